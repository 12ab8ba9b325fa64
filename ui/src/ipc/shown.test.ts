import { expect, test } from "vitest";
import * as ipc from ".";
import { useBackend } from "./backend";
import { oneLine, words } from "./shown";

const TURNED = "invoice\u202Egpj.exe";

test("what turns text around, breaks or hides it is shown as a mark", () => {
  expect(oneLine(TURNED)).toBe("invoice\uFFFDgpj.exe");
  expect(oneLine("a\nb\tc\u0000\u009B\u2028\u2067\u2069\u200F")).toBe("a\uFFFDb\uFFFDc" + "\uFFFD".repeat(6));
  expect(words("First.\nSecond\r\u202E")).toBe("First.\nSecond\uFFFD\uFFFD");
  expect(words(null)).toBe(null);
});

test("names in other scripts, with accents and joined signs stay", () => {
  for (const name of ["Übersicht – Zürich.pdf", "תמונות", "تقرير 2026", "e\u0301", "👩‍👧", "<b>&amp;</b>"]) {
    expect(oneLine(name)).toBe(name);
  }
});

test("entries, crumbs and holders come so, and their paths as they were", async () => {
  const entry = { path: "anna/invoice%E2%80%AEgpj.exe", name: TURNED, unavailable: null };
  const crumbs = [{ path: "anna/x", name: "a\u2066b" }];
  useBackend({
    invoke: (command, args) => {
      if (command === "unmount") return Promise.resolve([{ pid: 1, program: "sh\n", file: TURNED }]);
      (args["channel"] as (message: unknown) => void)([entry]);
      return Promise.resolve({ crumbs, entries: 1, contact: "anna" });
    },
    listen: () => Promise.resolve(() => undefined),
    channel: (handler) => handler,
  });
  const told: ipc.Entry[] = [];
  const listing = await ipc.list("anna", (entries) => told.push(...entries));
  expect(told).toEqual([{ ...entry, name: "invoice\uFFFDgpj.exe" }]);
  expect(listing.crumbs).toEqual([{ path: "anna/x", name: "a\uFFFDb" }]);
  expect(await ipc.unmount(false)).toEqual([{ pid: 1, program: "sh\uFFFD", file: "invoice\uFFFDgpj.exe" }]);
});
