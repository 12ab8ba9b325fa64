// The window's preferences. Null until they were read.
import * as ipc from "../ipc";
import type { Preferences } from "../ipc";

let current = $state.raw<Preferences | null>(null);
/** Counts changes: what is read after an earlier one is older than what is shown. */
let changes = 0;

export const preferences = {
  get current(): Preferences | null {
    return current;
  },
  async load(): Promise<void> {
    current = await ipc.preferences();
  },
  /** Shows a change at once, so that the next one holds it too, and stores it. What is shown in the end is what was really
   * stored: the preferences are read again, also after a failure. */
  async change(change: Partial<Preferences>): Promise<void> {
    if (!current) return;
    current = { ...current, ...change };
    const mine = ++changes;
    try {
      await ipc.setPreferences(current);
    } finally {
      const stored = await ipc.preferences();
      if (mine === changes) current = stored;
    }
  },
};
