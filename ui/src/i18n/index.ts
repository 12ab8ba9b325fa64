// `t("contacts.title")`: texts live in `en/<view>.ts` and `de/<view>.ts`; a key that is missing in a language does not compile.
export { language, t, type Key, type PlainKey } from "./language.svelte";
export { LANGUAGES, pickLanguage } from "./languages";
export type { Translation } from "./message";
