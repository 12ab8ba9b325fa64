// What the actions of the drive view do. A failure is told and ends the rest, since the next ones would mostly fail alike.
import * as ipc from "../../ipc";
import type { Entry } from "../../ipc";
import { t } from "../../i18n";
import { router } from "../../state/router.svelte";
import { attempt, toasts } from "../../state/toasts.svelte";
import { browser } from "./browser.svelte";

/** Does `deed` with each entry; tells how many it was done with. */
async function each(entries: readonly Entry[], deed: (entry: Entry) => Promise<unknown>): Promise<number> {
  let done = 0;
  await attempt(async () => {
    for (const entry of entries) {
      await deed(entry);
      done += 1;
    }
  });
  return done;
}

/** Saves copies in a folder that the user picks. */
export async function pull(entries: readonly Entry[]): Promise<void> {
  let folder: ipc.Path | null;
  try {
    folder = await ipc.pickFolder();
  } catch (error) {
    toasts.failure(error);
    return;
  }
  if (folder === null) return;
  const destination = folder;
  const count = await each(entries, (entry) => ipc.pull(entry.path, destination));
  if (count > 0) {
    toasts.show(t("drive.pulling", { count, name: entries[0]?.name ?? "" }), "success", {
      label: t("drive.showTransfers"),
      run: () => router.go("transfers"),
    });
  }
}

export async function pin(entries: readonly Entry[]): Promise<void> {
  const loose = entries.filter((entry) => !entry.pinned);
  const count = await each(loose, (entry) => ipc.pin(entry.path));
  if (count > 0) toasts.success(t("drive.pinned", { count, name: loose[0]?.name ?? "" }));
  await browser.reread();
}

export async function unpin(entries: readonly Entry[]): Promise<void> {
  const count = await each(entries, (entry) => ipc.unpin(entry.path));
  if (count > 0) toasts.success(t("drive.unpinned", { count, name: entries[0]?.name ?? "" }));
  await browser.reread();
}

/** What is pinned stays. */
export async function drop(entries: readonly Entry[]): Promise<void> {
  const loose = entries.filter((entry) => !entry.pinned && entry.cached !== "none");
  const count = await each(loose, (entry) => ipc.dropCache(entry.path));
  if (count > 0) toasts.success(t("drive.dropped", { count, name: loose[0]?.name ?? "" }));
  await browser.reread();
}

/** Shows a file where it is, or a folder, in the file manager. */
export async function show(path: ipc.Path): Promise<void> {
  await attempt(() => ipc.openDrive(path));
}
