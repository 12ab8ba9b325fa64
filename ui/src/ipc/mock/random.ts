// Chance that is the same every time (mulberry32).

export type Random = {
  /** From 0 to below 1. */
  next(): number;
  between(low: number, high: number): number;
  whole(low: number, high: number): number;
  pick<T>(of: readonly [T, ...T[]]): T;
};

export function random(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number) => low + next() * (high - low);
  const whole = (low: number, high: number) => Math.floor(between(low, high + 1));
  return { next, between, whole, pick: (of) => of[whole(0, of.length - 1)] ?? of[0] };
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** What looks like a contact's code. */
export function code(chance: Random): string {
  const digits = Array.from({ length: 85 }, () => DIGITS[chance.whole(0, 63)] ?? "A");
  return digits.join("") + chance.pick(["A", "Q", "g", "w"]);
}
