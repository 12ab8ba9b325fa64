// The engine's settings while they are edited. What was typed stays when another view is shown meanwhile.
import { language } from "../../i18n";
import * as ipc from "../../ipc";
import type { Failure, Settings } from "../../ipc";
import { changes, check, type Draft, draftOf, type Field, type Problems } from "./draft";

/** The sign between whole and part in the current language. */
export function decimalSign(): string {
  const parts = new Intl.NumberFormat(language.current).formatToParts(0.5);
  return parts.find(({ type }) => type === "decimal")?.value ?? ".";
}

let stored = $state.raw<Settings | null>(null);
let draft = $state<Draft | null>(null);
let failure = $state.raw<Failure | null>(null);
let saving = $state(false);
let restartNeeded = $state.raw<readonly Field[]>([]);

function take(settings: Settings): void {
  stored = settings;
  draft = draftOf(settings, decimalSign());
}

export const edit = {
  get draft(): Draft | null {
    return draft;
  },
  /** Why there are no settings to edit. */
  get failure(): Failure | null {
    return failure;
  },
  get saving(): boolean {
    return saving;
  },
  get changed(): readonly Field[] {
    return stored === null || draft === null ? [] : changes(draft, stored);
  },
  get problems(): Problems {
    return stored === null || draft === null ? {} : check(draft, stored).problems;
  },
  /** What is stored, but holds only when the engine starts again. */
  get restartNeeded(): readonly Field[] {
    return restartNeeded;
  },
  /** Reads the settings, unless somebody is editing them. */
  async load(): Promise<void> {
    if (edit.changed.length > 0) {
      return;
    }
    try {
      take(await ipc.settings());
      failure = null;
    } catch (error) {
      failure = ipc.failure(error);
      stored = null;
      draft = null;
    }
  },
  discard(): void {
    if (stored !== null) {
      take(stored);
    }
  },
  /** Stores what was typed; rejects with a `Failure`, and keeps it then. */
  async save(): Promise<void> {
    if (stored === null || draft === null || saving) {
      return;
    }
    const { settings, problems } = check(draft, stored);
    if (Object.keys(problems).length > 0) {
      return;
    }
    saving = true;
    try {
      // Only what was typed: something else may have been changed elsewhere since, such as the limit in the cache's view.
      const changed = Object.fromEntries(edit.changed.map((field) => [field, settings[field]]));
      const reply = await ipc.setSettings({ ...(await ipc.settings()), ...changed });
      restartNeeded = [...new Set([...restartNeeded, ...reply.restartNeeded])];
      take(reply.settings);
    } finally {
      saving = false;
    }
  },
  /** Starts the engine again; rejects with a `Failure`. */
  async restart(): Promise<void> {
    await ipc.restartEngine();
    restartNeeded = [];
  },
};
