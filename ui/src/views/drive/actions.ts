// What can be done with the entries that are selected.
import type { Entry, Path, Pin, Share } from "../../ipc/types";

export type ActionName = "open" | "show" | "pull" | "pin" | "unpin" | "drop" | "unshare";

/** Why an action that is offered cannot be done now. The names are those of the texts. */
export type Blocked = "notMounted" | "unavailable" | "pinnedWithFolder" | "pinned";

export interface Action {
  readonly name: ActionName;
  readonly blocked: Blocked | null;
}

export interface Around {
  /** Names from the top of the drive down to the folder that is shown: 0 at the top. */
  readonly depth: number;
  readonly contact: string | null;
  readonly mounted: boolean;
  readonly shares: readonly Share[];
  readonly pins: readonly Pin[];
}

/** The share that an entry directly below a contact's folder is, if it is one of mine. */
export function shareOf(entry: Entry, around: Around): Share | null {
  if (entry.home !== "mine" || around.depth !== 1) return null;
  return around.shares.find((share) => share.with === around.contact && share.name === entry.name) ?? null;
}

function isPinnedItself(path: Path, pins: readonly Pin[]): boolean {
  return pins.some((pin) => pin.path === path);
}

/** Actions of the selection, in the order of the menu. What makes no sense for it is left out. */
export function actionsFor(selection: readonly Entry[], around: Around): Action[] {
  const actions: Action[] = [];
  const [first] = selection;
  if (first === undefined) return actions;
  const offer = (name: ActionName, blocked: Blocked | null = null): void => {
    actions.push({ name, blocked });
  };
  const gone = selection.some((entry) => entry.unavailable !== null) ? "unavailable" : null;
  const unmounted = around.mounted ? null : "notMounted";

  if (selection.length === 1) {
    if (first.kind === "folder") offer("open", gone);
    offer("show", gone ?? unmounted);
  }
  // The folders of contacts are no entries of anybody: they can be opened only.
  if (around.depth === 0) return actions;

  if (selection.every((entry) => entry.home === "theirs")) {
    offer("pull", gone);
    const loose = selection.filter((entry) => !entry.pinned);
    if (loose.length > 0) {
      offer("pin", gone);
    } else {
      offer("unpin", selection.every((entry) => isPinnedItself(entry.path, around.pins)) ? null : "pinnedWithFolder");
    }
    // A folder's own mark may be missing, so what is below it is dropped whatever is there.
    if (selection.some((entry) => entry.cached !== "none")) {
      offer("drop", loose.length > 0 ? null : "pinned");
    }
  }
  if (selection.every((entry) => shareOf(entry, around) !== null)) offer("unshare");
  return actions;
}

/** What Enter and a double click do with an entry. A file is shown where it is and not run: it comes from somebody else. */
export function opening(entry: Entry, mounted: boolean): "enter" | "show" | Blocked {
  if (entry.unavailable !== null) return "unavailable";
  if (entry.kind === "folder") return "enter";
  return mounted ? "show" : "notMounted";
}
