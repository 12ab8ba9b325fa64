import { describe, expect, it } from "vitest";
import type { Entry, Pin, Share } from "../../ipc/types";
import { type Around, actionsFor, opening, shareOf } from "./actions";

function entry(rest: Partial<Entry> = {}): Entry {
  return {
    path: "mia/film", name: "film", kind: "file", size: 1, modifiedMs: 0, writable: false, home: "theirs", pinned: false,
    cached: "part", unavailable: null, ...rest,
  };
}

const SHARE: Share = { path: "/home/me/film", display: "/home/me/film", with: "mia", name: "film", writable: false, state: "ready", entries: 1 };
const PIN: Pin = { path: "mia/film", display: "mia/film", state: "whole", files: 1, bytes: 1, cached: 1, reason: null };

function around(rest: Partial<Around> = {}): Around {
  return { depth: 1, contact: "mia", mounted: true, shares: [], pins: [], ...rest };
}

function names(selection: Entry[], rest: Partial<Around> = {}): string[] {
  return actionsFor(selection, around(rest)).map((action) => action.name + (action.blocked === null ? "" : `:${action.blocked}`));
}

describe("actions", () => {
  it("has none for no selection, and only opening for a contact's folder", () => {
    expect(names([])).toEqual([]);
    expect(names([entry({ kind: "folder" })], { depth: 0, contact: null })).toEqual(["open", "show"]);
  });

  it("offers all for an entry of theirs", () => {
    expect(names([entry()])).toEqual(["show", "pull", "pin", "drop"]);
    expect(names([entry({ cached: "none" })])).toEqual(["show", "pull", "pin"]);
    expect(names([entry({ kind: "folder", cached: null })])).toEqual(["open", "show", "pull", "pin", "drop"]);
    expect(names([entry(), entry()])).toEqual(["pull", "pin", "drop"]);
  });

  it("shows only what is on a mounted drive, and goes into folders always", () => {
    expect(names([entry()], { mounted: false })[0]).toBe("show:notMounted");
    expect(names([entry({ kind: "folder" })], { mounted: false }).slice(0, 2)).toEqual(["open", "show:notMounted"]);
  });

  it("unpins what is pinned itself, and says when the folder is", () => {
    const pinned = entry({ pinned: true, cached: "whole" });
    expect(names([pinned], { pins: [PIN] })).toEqual(["show", "pull", "unpin", "drop:pinned"]);
    expect(names([pinned])).toEqual(["show", "pull", "unpin:pinnedWithFolder", "drop:pinned"]);
    expect(names([pinned, entry()], { pins: [PIN] })).toEqual(["pull", "pin", "drop"]);
  });

  it("stops sharing what is mine, and pulls nothing of it", () => {
    const mine = entry({ home: "mine", cached: null });
    expect(names([mine], { shares: [SHARE] })).toEqual(["show", "unshare"]);
    expect(names([mine], { shares: [SHARE], depth: 2 })).toEqual(["show"]);
    expect(names([mine, entry()], { shares: [SHARE] })).toEqual([]);
    expect(shareOf(mine, around({ shares: [{ ...SHARE, with: "ben" }] }))).toBeNull();
  });

  it("blocks what is not there", () => {
    expect(names([entry({ kind: "folder", unavailable: "The disk is not attached." })])).toEqual(["open:unavailable", "show:unavailable", "pull:unavailable", "pin:unavailable", "drop"]);
    expect(opening(entry({ kind: "folder", unavailable: "x" }), true)).toBe("unavailable");
    expect(opening(entry({ kind: "folder" }), false)).toBe("enter");
    expect(opening(entry(), false)).toBe("notMounted");
    expect(opening(entry(), true)).toBe("show");
  });
});
