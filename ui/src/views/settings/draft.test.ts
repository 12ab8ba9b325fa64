import { describe, expect, test } from "vitest";
import type { Settings } from "../../ipc/types";
import { changes, check, type Draft, draftOf, readCacheLimit, readRelay } from "./draft";

const stored: Settings = {
  relay: "relay.example:7480",
  drive: null,
  mount: true,
  allowOther: false,
  listenPort: 0,
  lan: true,
  relayOnly: false,
  cacheDir: null,
  cacheLimit: 10_000_000_000,
  limitReceive: null,
  limitSend: 1_500_000,
};

const edited = (change: Partial<Draft>): Draft => ({ ...draftOf(stored, "."), ...change });

describe("a draft", () => {
  test("says what it was made of, in any language", () => {
    for (const decimal of [".", ","]) {
      const draft = draftOf(stored, decimal);
      expect(check(draft, stored)).toEqual({ settings: stored, problems: {} });
      expect(changes(draft, stored)).toEqual([]);
    }
    expect(draftOf(stored, ",").limitSend).toBe("1,5 MB/s");
  });

  test("other words for the same are no change", () => {
    expect(changes(edited({ cacheLimit: "10000 MB", limitSend: "12 Mbit/s", relay: " relay.example:7480 ", listenPort: "0" }), stored)).toEqual([]);
  });

  test("every field can be changed", () => {
    const draft: Draft = {
      relay: "",
      drive: "/mnt/far",
      mount: false,
      allowOther: true,
      listenPort: "7000",
      lan: false,
      relayOnly: true,
      cacheDir: "/var/cache/f",
      cacheLimit: "64 MB",
      limitReceive: "2 MB/s",
      limitSend: "",
    };
    expect(changes(draft, stored).sort()).toEqual(Object.keys(draft).sort());
    expect(check(draft, stored)).toEqual({
      problems: {},
      settings: {
        relay: null,
        drive: "/mnt/far",
        mount: false,
        allowOther: true,
        listenPort: 7000,
        lan: false,
        relayOnly: true,
        cacheDir: "/var/cache/f",
        cacheLimit: 64_000_000,
        limitReceive: 2_000_000,
        limitSend: null,
      },
    });
  });

  test("what cannot be read is told per field, counts as changed, and changes nothing stored", () => {
    const draft = edited({ drive: "far", listenPort: "65536", cacheLimit: "much", limitReceive: "0", limitSend: "fast" });
    const { settings, problems } = check(draft, stored);
    expect(problems).toEqual({ drive: "path", listenPort: "port", cacheLimit: "size", limitReceive: "zero", limitSend: "rate" });
    expect(settings).toEqual(stored);
    expect(changes(draft, stored).sort()).toEqual(Object.keys(problems).sort());
  });
});

test("relay addresses", () => {
  for (const good of ["relay.example", "relay.example:7480", "192.0.2.1:1", "[2001:db8::1]", "[2001:db8::1]:7480", "böse.example"]) {
    expect(readRelay(good), good).toEqual({ value: good });
  }
  for (const bad of ["https://relay.example", "relay.example:", "relay.example:65535", "2001:db8::1", "[relay]:1", "a b", "me@relay", ":7480", "relay:x"]) {
    expect(readRelay(bad), bad).toEqual({ problem: "relay" });
  }
  expect(readRelay("  ")).toEqual({ value: null });
});

test("the cache has a least size", () => {
  expect(readCacheLimit("63.9 MB")).toEqual({ problem: "small" });
  expect(readCacheLimit("64 MB")).toEqual({ value: 64_000_000 });
  expect(readCacheLimit("")).toEqual({ problem: "size" });
});
