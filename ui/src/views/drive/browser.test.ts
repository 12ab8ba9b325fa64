import { beforeEach, describe, expect, it, vi } from "vitest";
import { useBackend } from "../../ipc/backend";
import type { Entry, Failure, Listing, Path } from "../../ipc/types";
import { Browser } from "./browser.svelte";

type Asked = {
  path: Path;
  give: (names: string[]) => void;
  end: () => Promise<void>;
  fail: (failure: Failure) => Promise<void>;
};

let asked: Asked[] = [];

function entry(name: string): Entry {
  return {
    path: `mia/${name}`,
    name,
    kind: "file",
    size: 1,
    modifiedMs: 0,
    writable: false,
    home: "theirs",
    pinned: false,
    cached: null,
    unavailable: null,
  };
}

const settled = (): Promise<void> => vi.advanceTimersByTimeAsync(0).then(() => undefined);

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  useBackend({
    invoke: (_, args) =>
      new Promise((resolve, reject) => {
        const path = String(args["path"]);
        const send = args["channel"] as (entries: Entry[]) => void;
        const crumbs = path === "" ? [] : [{ path: "mia", name: "mia" }];
        const listing: Listing = { crumbs, entries: 0, contact: path === "" ? null : "mia" };
        asked.push({
          path,
          give: (names) => send(names.map(entry)),
          end: () => {
            resolve(listing);
            return settled();
          },
          fail: (failure) => {
            reject(failure);
            return settled();
          },
        });
      }),
    listen: () => Promise.resolve(() => undefined),
    channel: (handler) => handler,
  });
});

const shown = (browser: Browser): string[] => browser.shown.map((row) => row.entry.name);
const nth = (at: number): Asked => {
  const one = asked[at];
  if (one === undefined) throw new Error(`the folder was read ${asked.length} times`);
  return one;
};

describe("a folder", () => {
  it("is shown sorted as its entries come", async () => {
    const browser = new Browser();
    void browser.open("mia");
    nth(0).give(["b", "a10"]);
    expect(shown(browser)).toEqual([]);
    await vi.advanceTimersByTimeAsync(200);
    expect(shown(browser)).toEqual(["a10", "b"]);
    nth(0).give(["a9"]);
    await nth(0).end();
    expect(shown(browser)).toEqual(["a9", "a10", "b"]);
    expect([browser.loading, browser.contact, browser.depth, browser.parent]).toEqual([false, "mia", 1, ""]);
  });

  it("is left for another one, whatever still comes of it", async () => {
    const browser = new Browser();
    void browser.open("mia");
    void browser.open("");
    nth(0).give(["old"]);
    await nth(0).end();
    expect(browser.loading).toBe(true);
    nth(1).give(["mia"]);
    await nth(1).end();
    expect(shown(browser)).toEqual(["mia"]);
    expect([browser.path, browser.depth, browser.parent]).toEqual(["", 0, null]);
  });

  it("stays as it is while it is read again, and if that fails", async () => {
    const browser = new Browser();
    void browser.open("mia");
    nth(0).give(["a"]);
    await nth(0).end();
    browser.selected = new Set(["mia/a", "mia/gone"]);
    void browser.reread();
    nth(1).give(["b"]);
    await vi.advanceTimersByTimeAsync(200);
    expect(shown(browser)).toEqual(["a"]);
    await nth(1).fail({ kind: "timeout", message: "No answer." });
    expect(shown(browser)).toEqual(["a"]);
    expect(browser.failure).toBeNull();
    expect(browser.selection.map((one) => one.name)).toEqual(["a"]);
    void browser.reread();
    nth(2).give(["a", "b"]);
    await nth(2).end();
    expect(shown(browser)).toEqual(["a", "b"]);
  });

  it("tells why it cannot be read, and that it is gone", async () => {
    const browser = new Browser();
    void browser.open("mia");
    await nth(0).fail({ kind: "timeout", message: "No answer." });
    expect(browser.failure?.message).toBe("No answer.");
    void browser.open("mia");
    nth(1).give(["a"]);
    await nth(1).end();
    expect(browser.failure).toBeNull();
    void browser.reread();
    await nth(2).fail({ kind: "notFound", message: "Gone." });
    expect([browser.failure?.kind, shown(browser)]).toEqual(["notFound", []]);
  });
});
