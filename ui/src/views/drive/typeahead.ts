// Typing the beginning of a name goes to it.
import { fold, type Row } from "./order";

/** After this long without a key the next one begins a new name. */
const PAUSE_MS = 900;

export class Typeahead {
  #typed = "";
  #last = 0;

  /** What was typed up to this key; null when the key is none of a name's beginning. */
  press(key: string, now: number): string | null {
    const begins = now - this.#last > PAUSE_MS;
    if ([...key].length !== 1 || (key === " " && begins)) return null;
    this.#typed = begins ? key : this.#typed + key;
    this.#last = now;
    return this.#typed;
  }
}

/** The first row whose name begins so. */
export function startingWith(rows: readonly Row[], typed: string): Row | null {
  const wanted = fold(typed);
  return rows.find((row) => row.folded.startsWith(wanted)) ?? null;
}
