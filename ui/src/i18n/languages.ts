// Every language that there is. To add one: a folder like `de/`, and a line here.
import { de } from "./de";
import { en } from "./en";
import type { Translation } from "./message";

export type Catalogue = Translation<typeof en>;

export const LANGUAGES: Readonly<Record<string, { name: string; catalogue: Catalogue }>> = {
  en: { name: "English", catalogue: en },
  de: { name: "Deutsch", catalogue: de },
};

/** The language to show: the chosen one, else the first of the system's that there is, else English. */
export function pickLanguage(chosen: string | null, system: readonly string[]): string {
  const wanted = chosen === null ? system : [chosen];
  for (const tag of wanted) {
    const base = tag.split("-")[0]?.toLowerCase() ?? "";
    if (Object.hasOwn(LANGUAGES, base)) return base;
  }
  return "en";
}
