// Messages: texts with {placeholders}; where a count decides the form, one text per form that Intl knows.

export type Plural = Readonly<{ one: string; other: string } & Partial<Record<Intl.LDMLPluralRule, string>>>;
export type Message = string | Plural;
export type Value = string | number;

/** What a translation of a namespace must have: the same keys, plural where the original is plural. */
export type Translation<T> = { readonly [K in keyof T]: T[K] extends string ? string : Plural };

type Placeholders<S extends string> = S extends `${string}{${infer Name}}${infer Rest}` ? Name | Placeholders<Rest> : never;
type Texts<M> = M extends string ? M : M[keyof M] & string;

/** The values that a message needs: every placeholder, and `count` for a plural. */
export type Values<M> = { [P in Placeholders<Texts<M>>]: Value } & (M extends string ? unknown : { count: number });

/** `t`'s arguments after the key: none when the message needs no value. */
export type Arguments<M> = keyof Values<M> extends never ? [] : [values: Values<M>];

/** Fills a message in. Numbers are written the way the language writes them. */
export function fill(message: Message, values: Readonly<Record<string, Value>>, language: string): string {
  const text = typeof message === "string" ? message : choose(message, values["count"], language);
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === "number" ? number(language).format(value) : isolated(value);
  });
}

/** The scripts that are written from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** A name that is written the other way keeps to itself: what stands beside it in the sentence stays in its order. */
const isolated = (value: string): string => (RIGHT_TO_LEFT.test(value) ? `\u2068${value}\u2069` : value);

function choose(message: Plural, count: Value | undefined, language: string): string {
  const form = rules(language).select(typeof count === "number" ? count : 0);
  return message[form] ?? message.other;
}

const memo = <T>(make: (language: string) => T) => {
  const made = new Map<string, T>();
  return (language: string): T => {
    let one = made.get(language);
    if (one === undefined) made.set(language, (one = make(language)));
    return one;
  };
};
const rules = memo((language) => new Intl.PluralRules(language));
const number = memo((language) => new Intl.NumberFormat(language));
