// The window's preferences. Null until they were read.
import * as ipc from "../ipc";
import type { Preferences } from "../ipc";

let current = $state.raw<Preferences | null>(null);

export const preferences = {
  get current(): Preferences | null {
    return current;
  },
  async load(): Promise<void> {
    current = await ipc.preferences();
  },
  /** Stores a change. What is shown afterwards is what was really stored: the preferences are read again, also after a failure. */
  async change(change: Partial<Preferences>): Promise<void> {
    if (!current) return;
    try {
      await ipc.setPreferences({ ...current, ...change });
    } finally {
      current = await ipc.preferences();
    }
  },
};
