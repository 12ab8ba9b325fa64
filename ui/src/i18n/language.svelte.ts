// The language that is shown now. Whatever calls `t` follows a change.
import { en } from "./en";
import { LANGUAGES } from "./languages";
import { fill, type Arguments, type Value } from "./message";

type Messages = typeof en;
export type Key = keyof Messages;
/** The keys of texts that need no values. */
export type PlainKey = { [K in Key]: Arguments<Messages[K]> extends [] ? K : never }[Key];

let current = $state("en");

export const language = {
  get current(): string {
    return current;
  },
  set(tag: string): void {
    current = tag;
  },
};

/** The text of `key` in the current language. Missing or surplus values are compile errors. */
export function t<K extends Key>(key: K, ...args: Arguments<Messages[K]>): string {
  const catalogue = LANGUAGES[current]?.catalogue ?? en;
  const values: Readonly<Record<string, Value>> = args[0] ?? {};
  return fill(catalogue[key], values, current);
}
