import { describe, expect, it } from "vitest";
import type { Transfer } from "../../ipc/types";
import { actionsFor, counts, progressOf, select, type Shown, summarise } from "./model";

const ALL: Shown = { group: "all", direction: "both", text: "" };

function transfer(id: number, state: Transfer["state"], rest: Partial<Transfer> = {}): Transfer {
  return {
    id, direction: "pull", contact: "Mia", name: `film-${id}.mkv`, state, reason: null, filesDone: 0, files: 1, bytesDone: 0, bytes: 100,
    rate: 0, remainingSeconds: null, destination: "/home/me/film", destinationDisplay: "/home/me/film", ...rest,
  };
}

const ids = (rows: Transfer[]): number[] => rows.map((row) => row.id);

describe("rows", () => {
  const transfers = [
    transfer(1, "done"), transfer(2, "failed", { direction: "push" }), transfer(3, "running"), transfer(4, "queued", { direction: "serve", contact: "Ben" }),
    transfer(5, "offered", { direction: "receive" }), transfer(6, "cancelled"), transfer(7, "running"), transfer(8, "paused"), transfer(9, "waiting"),
  ];

  it("puts first what asks for something, then what moves, then the latest of what is over", () => {
    expect(ids(select(transfers, ALL))).toEqual([5, 3, 7, 4, 9, 8, 2, 6, 1]);
  });

  it("is filtered by group, direction and words", () => {
    expect(ids(select(transfers, { ...ALL, group: "active" }))).toEqual([3, 7, 4, 9, 8]);
    expect(ids(select(transfers, { ...ALL, direction: "out" }))).toEqual([4, 2]);
    expect(ids(select(transfers, { ...ALL, text: "BEN film" }))).toEqual([4]);
    expect(ids(select(transfers, { group: "failed", direction: "in", text: "" }))).toEqual([]);
  });

  it("counts groups in the direction that is shown", () => {
    expect(counts(transfers, ALL)).toEqual({ all: 9, offered: 1, active: 5, failed: 1, finished: 2 });
    expect(counts(transfers, { ...ALL, direction: "out" })).toEqual({ all: 2, offered: 0, active: 1, failed: 1, finished: 0 });
  });
});

describe("actions", () => {
  it("follow the state", () => {
    expect(actionsFor(transfer(1, "offered"))).toEqual(["accept", "decline"]);
    expect(actionsFor(transfer(1, "running"))).toEqual(["pause", "cancel"]);
    expect(actionsFor(transfer(1, "paused"))).toEqual(["resume", "cancel"]);
    expect(actionsFor(transfer(1, "failed"))).toEqual(["retry", "discard"]);
    expect(actionsFor(transfer(1, "failed", { direction: "serve" }))).toEqual(["forget"]);
    expect(actionsFor(transfer(1, "cancelled"))).toEqual(["forget"]);
  });

  it("show only what is here", () => {
    expect(actionsFor(transfer(1, "done"))).toEqual(["show", "forget"]);
    expect(actionsFor(transfer(1, "done", { direction: "push" }))).toEqual(["forget"]);
    expect(actionsFor(transfer(1, "done", { destination: null }))).toEqual(["forget"]);
  });
});

describe("progress", () => {
  it("is by bytes, by files of empty ones, and not known before the first figures", () => {
    expect(progressOf(transfer(1, "running", { bytesDone: 25 }))).toBe(0.25);
    expect(progressOf(transfer(1, "running", { bytesDone: 125 }))).toBe(1);
    expect(progressOf(transfer(1, "running", { bytes: 0, files: 4, filesDone: 1 }))).toBe(0.25);
    expect(progressOf(transfer(1, "queued", { bytes: 0, files: 0 }))).toBeNull();
    expect(progressOf(transfer(1, "done", { bytes: 0, files: 0 }))).toBe(1);
  });
});

describe("summary", () => {
  it("adds up what is under way", () => {
    const transfers = [transfer(1, "running", { bytesDone: 30 }), transfer(2, "paused"), transfer(3, "done"), transfer(4, "running", { bytesDone: 130 })];
    expect(summarise(transfers)).toEqual({ running: 2, bytesLeft: 170, anyToPause: true, anyToResume: true });
    expect(summarise([])).toEqual({ running: 0, bytesLeft: 0, anyToPause: false, anyToResume: false });
  });
});
