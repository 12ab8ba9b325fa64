import { expect, test } from "vitest";
import type { Preferences } from "../ipc";
import { useBackend } from "../ipc/backend";
import { preferences } from "./preferences.svelte";

const FIRST: Preferences = {
  theme: "system",
  language: null,
  scale: 100,
  notifications: { present: true, offered: true, transferDone: true, transferFailed: true, conflict: true, diskLow: true },
  autostart: false,
  closeToTray: true,
  firstRunDone: true,
};

/** Preferences that take a moment to be stored, as on a disk. */
function shell(refuse = false): { stored: Preferences } {
  const shell = { stored: FIRST };
  useBackend({
    async invoke(command, args) {
      await new Promise((resolve) => setTimeout(resolve));
      if (command === "preferences") return shell.stored;
      if (refuse) throw { kind: "internal", message: "The disk is full." };
      shell.stored = args["preferences"] as Preferences;
      return undefined;
    },
    listen: () => Promise.resolve(() => undefined),
    channel: (handler) => handler,
  });
  return shell;
}

test("two changes at once are both stored", async () => {
  const { load, change } = preferences;
  const told = shell();
  await load();
  await Promise.all([change({ scale: 150 }), change({ autostart: true })]);
  expect(told.stored).toEqual({ ...FIRST, scale: 150, autostart: true });
  expect(preferences.current).toEqual(told.stored);
});

test("what could not be stored is not shown", async () => {
  shell(true);
  await preferences.load();
  await expect(preferences.change({ scale: 200 })).rejects.toMatchObject({ message: "The disk is full." });
  expect(preferences.current).toEqual(FIRST);
});
