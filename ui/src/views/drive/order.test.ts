import { describe, expect, it } from "vitest";
import type { Entry } from "../../ipc/types";
import { comparing, filter, fold, merge, nextOrder, type Order, toRow } from "./order";

const BY_NAME: Order = { column: "name", descending: false };

function entry(name: string, rest: Partial<Entry> = {}): Entry {
  return {
    path: `mia/${encodeURIComponent(name)}`, name, kind: "file", size: 0, modifiedMs: 0, writable: false, home: "theirs",
    pinned: false, cached: "none", unavailable: null, ...rest,
  };
}

function names(entries: Entry[], order: Order): string[] {
  return merge([], entries, order).map((row) => row.entry.name);
}

describe("order", () => {
  it("puts numbers in their natural order", () => {
    const sorted = ["a", "img1", "img2", "img09", "img10", "img100", "img123456789", "img1234567890", "img2b"];
    expect(names([...sorted].reverse().map((name) => entry(name)), BY_NAME)).toEqual(
      ["a", "img1", "img2", "img2b", "img09", "img10", "img100", "img123456789", "img1234567890"],
    );
  });

  it("looks past case and accents, and is the same for equal keys however they come", () => {
    expect(names(["b", "Ärger", "apfel", "Zug", "zahn"].map((name) => entry(name)), BY_NAME)).toEqual(["apfel", "Ärger", "b", "zahn", "Zug"]);
    expect(names(["x1", "x01", "X1"].map((name) => entry(name)), BY_NAME)).toEqual(names(["X1", "x1", "x01"].map((name) => entry(name)), BY_NAME));
  });

  it("keeps folders first in every order", () => {
    const entries = [entry("z", { kind: "folder", modifiedMs: 1 }), entry("a", { size: 3, modifiedMs: 5 }), entry("m", { kind: "folder", modifiedMs: 9 }), entry("b", { size: 7 })];
    expect(names(entries, BY_NAME)).toEqual(["m", "z", "a", "b"]);
    expect(names(entries, { column: "name", descending: true })).toEqual(["z", "m", "b", "a"]);
    expect(names(entries, { column: "size", descending: true })).toEqual(["m", "z", "b", "a"]);
    expect(names(entries, { column: "modified", descending: true })).toEqual(["m", "z", "a", "b"]);
  });

  it("gives the same for chunks as for the whole", () => {
    let seed = 7;
    const random = (): number => (seed = (seed * 48271) % 2147483647);
    const entries = Array.from({ length: 2_000 }, () => {
      const kind = random() % 9 === 0 ? "folder" : "file";
      return entry(`n${random() % 500}-${random()}`, { kind, size: random() % 50, modifiedMs: random() % 50 });
    });
    for (const column of ["name", "size", "modified"] as const) {
      for (const descending of [false, true]) {
        const order = { column, descending };
        let rows = merge([], entries.slice(0, 300), order);
        rows = merge(rows, entries.slice(300, 1_000), order);
        rows = merge(rows, entries.slice(1_000), order);
        const compare = comparing(order);
        expect(rows.map((row) => row.entry.name)).toEqual(entries.map(toRow).sort(compare).map((row) => row.entry.name));
      }
    }
  });

  it("turns a column round, and begins with the newest and the largest", () => {
    expect(nextOrder(BY_NAME, "name")).toEqual({ column: "name", descending: true });
    expect(nextOrder(BY_NAME, "size")).toEqual({ column: "size", descending: true });
    expect(nextOrder({ column: "size", descending: true }, "name")).toEqual(BY_NAME);
  });
});

describe("filter", () => {
  const rows = ["Ferien Über 2024.mkv", "ferien 2023", "Straße.jpg"].map((name) => toRow(entry(name)));
  const found = (text: string): string[] => filter(rows, text).map((row) => row.entry.name);

  it("wants every word, without case and accents", () => {
    expect(found("uber FERIEN")).toEqual(["Ferien Über 2024.mkv"]);
    expect(found("strasse")).toEqual(["Straße.jpg"]);
    expect(found("2023 uber")).toEqual([]);
  });

  it("takes everything for no text", () => {
    expect(filter(rows, "  ")).toBe(rows);
  });
});

describe("fold", () => {
  it("joins what was composed in different ways", () => {
    expect(fold("e\u0301")).toBe(fold("\u00e9"));
  });
});
