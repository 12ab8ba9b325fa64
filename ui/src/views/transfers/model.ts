// What the list of transfers shows, in which order, and what can be done with each.
import type { Transfer } from "../../ipc/types";

export type Group = "offered" | "active" | "failed" | "finished";
export type Direction = "in" | "out";

export interface Shown {
  readonly group: Group | "all";
  readonly direction: Direction | "both";
  /** Words that the name or the contact must hold. */
  readonly text: string;
}

/** Whether bytes come to this side or go from it. */
export function directionOf(transfer: Transfer): Direction {
  return transfer.direction === "pull" || transfer.direction === "receive" ? "in" : "out";
}

export function groupOf(transfer: Transfer): Group {
  switch (transfer.state) {
    case "offered":
      return "offered";
    case "queued":
    case "running":
    case "waiting":
    case "paused":
      return "active";
    case "failed":
      return "failed";
    case "done":
    case "cancelled":
      return "finished";
  }
}

// What asks for something comes first, then what moves, then what is over.
const RANK: Record<Transfer["state"], number> = { offered: 0, running: 1, queued: 2, waiting: 3, paused: 4, failed: 5, done: 6, cancelled: 6 };

/** Under way in the order in which it was begun, what is over with the latest first. */
export function compare(a: Transfer, b: Transfer): number {
  const rank = RANK[a.state] - RANK[b.state];
  if (rank !== 0) return rank;
  return RANK[a.state] >= RANK.failed ? b.id - a.id : a.id - b.id;
}

export type Counts = Record<Group | "all", number>;

function inDirection(transfer: Transfer, shown: Shown): boolean {
  return shown.direction === "both" || shown.direction === directionOf(transfer);
}

/** Transfers of each group in the direction that is shown. */
export function counts(transfers: Iterable<Transfer>, shown: Shown): Counts {
  const result: Counts = { all: 0, offered: 0, active: 0, failed: 0, finished: 0 };
  for (const transfer of transfers) {
    if (!inDirection(transfer, shown)) continue;
    result.all += 1;
    result[groupOf(transfer)] += 1;
  }
  return result;
}

/** The rows of the list. */
export function select(transfers: Iterable<Transfer>, shown: Shown): Transfer[] {
  const words = shown.text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const rows: Transfer[] = [];
  for (const transfer of transfers) {
    if (!inDirection(transfer, shown)) continue;
    if (shown.group !== "all" && shown.group !== groupOf(transfer)) continue;
    if (words.length > 0) {
      const text = `${transfer.name}\n${transfer.contact}`.toLowerCase();
      if (!words.every((word) => text.includes(word))) continue;
    }
    rows.push(transfer);
  }
  return rows.sort(compare);
}

export type ActionName = "accept" | "decline" | "pause" | "resume" | "retry" | "show" | "cancel" | "discard" | "forget";

/** What can be done, the most likely first. */
export function actionsFor(transfer: Transfer): ActionName[] {
  const here: ActionName[] = transfer.destination !== null && directionOf(transfer) === "in" ? ["show"] : [];
  switch (transfer.state) {
    case "offered":
      return ["accept", "decline"];
    case "running":
    case "queued":
    case "waiting":
      return ["pause", "cancel"];
    case "paused":
      return ["resume", "cancel"];
    case "failed":
      // Who fetches is who can try again: a copy that the contact fetches is theirs to go on with. What was received
      // goes with the transfer.
      return transfer.direction === "serve" ? ["forget"] : ["retry", "discard"];
    case "done":
      return [...here, "forget"];
    case "cancelled":
      return ["forget"];
  }
}

/** How much there is of it, 0 to 1, or null while it is not known how much it will be. */
export function progressOf(transfer: Transfer): number | null {
  if (transfer.state === "done") return 1;
  if (transfer.bytes > 0) return Math.min(1, transfer.bytesDone / transfer.bytes);
  if (transfer.files > 0) return Math.min(1, transfer.filesDone / transfer.files);
  return null;
}

/** What the head of the view tells of everything under way. */
export interface Summary {
  readonly running: number;
  readonly bytesLeft: number;
  readonly anyToPause: boolean;
  readonly anyToResume: boolean;
}

export function summarise(transfers: Iterable<Transfer>): Summary {
  let running = 0;
  let bytesLeft = 0;
  let anyToPause = false;
  let anyToResume = false;
  for (const transfer of transfers) {
    if (groupOf(transfer) !== "active") continue;
    if (transfer.state === "running") running += 1;
    bytesLeft += Math.max(0, transfer.bytes - transfer.bytesDone);
    if (transfer.state === "paused") anyToResume = true;
    else anyToPause = true;
  }
  return { running, bytesLeft, anyToPause, anyToResume };
}
