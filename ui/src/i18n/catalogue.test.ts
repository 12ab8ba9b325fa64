import { expect, test } from "vitest";
import { en } from "./en";
import { LANGUAGES, pickLanguage } from "./languages";
import type { Message } from "./message";

const texts = (message: Message): string[] => (typeof message === "string" ? [message] : Object.values(message));
const placeholders = (message: Message): string[] =>
  [...new Set(texts(message).flatMap((text) => [...text.matchAll(/\{(\w+)\}/g)].map((found) => found[1] ?? "")))].sort();

test("a key is in one namespace only", () => {
  const files = import.meta.glob<Record<string, Record<string, Message>>>(["./en/*.ts", "!./en/index.ts"], { eager: true });
  const keys = Object.entries(files).flatMap(([file, module]) =>
    Object.values(module).flatMap((namespace) => Object.keys(namespace).map((key) => `${key} (${file})`)),
  );
  expect(keys.length).toBe(Object.keys(en).length);
});

test.each(Object.entries(LANGUAGES))("%s has every text, with the same values", (tag, { catalogue }) => {
  const forms = new Intl.PluralRules(tag).resolvedOptions().pluralCategories;
  expect(Object.keys(catalogue).sort()).toEqual(Object.keys(en).sort());
  for (const key of Object.keys(en) as (keyof typeof en)[]) {
    const message: Message = catalogue[key];
    for (const text of texts(message)) expect(text.trim(), key).not.toBe("");
    expect(placeholders(message), key).toEqual(placeholders(en[key]));
    if (typeof message !== "string") expect(Object.keys(message), key).toEqual(expect.arrayContaining(forms));
  }
});

test("the language is the chosen one, else the system's first that there is, else English", () => {
  expect(pickLanguage("de", ["en-GB"])).toBe("de");
  expect(pickLanguage(null, ["fr-FR", "de-AT", "en"])).toBe("de");
  expect(pickLanguage(null, ["fr"])).toBe("en");
  expect(pickLanguage("tlh", ["de"])).toBe("en");
});
