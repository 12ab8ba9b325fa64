/** How long a state may take to come on a loaded machine of two cores. */
const WITHIN = 30_000;
const EVERY = 50;

/**
 * Waits until `ask` gives something true, and returns that.
 * What `ask` throws counts as "not yet", and is told if the state never comes.
 * @template T
 * @param {string} what the awaited state, for the message
 * @param {() => T | Promise<T>} ask
 * @param {number} [within] milliseconds
 * @returns {Promise<Exclude<Awaited<T>, false | null | undefined | 0 | "">>}
 */
export async function until(what, ask, within = WITHIN) {
  const end = Date.now() + within;
  /** @type {unknown} */
  let last;
  for (;;) {
    try {
      const answer = await ask();
      if (answer) return /** @type {any} */ (answer);
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) {
      const why = last === undefined ? "" : `: ${last instanceof Error ? last.message : String(last)}`;
      throw new Error(`not within ${within / 1000} s: ${what}${why}`);
    }
    await pause(EVERY);
  }
}

/** @param {number} milliseconds */
export function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
