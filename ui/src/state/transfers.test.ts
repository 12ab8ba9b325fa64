import { expect, test } from "vitest";
import type { Transfer } from "../ipc";
import { applyChanges, transfers } from "./transfers.svelte";

const transfer = (id: number, bytesDone = 0): Transfer => ({
  id,
  direction: "pull",
  contact: "anna",
  name: `file ${id}`,
  state: "running",
  reason: null,
  filesDone: 0,
  files: 1,
  bytesDone,
  bytes: 100,
  rate: 0,
  remainingSeconds: null,
  destination: null,
  destinationDisplay: null,
});

test("changes replace, add and remove", () => {
  const map = new Map([[1, transfer(1)], [2, transfer(2)]]);
  expect(applyChanges(map, { changed: [transfer(2, 50), transfer(3)], removed: [1] })).toBe(true);
  expect([...map.values()].map(({ id, bytesDone }) => [id, bytesDone])).toEqual([[2, 50], [3, 0]]);
});

test("what changes nothing makes no new list", () => {
  transfers.reset([transfer(1)]);
  const before = transfers.list;
  transfers.apply({ changed: [], removed: [7] });
  expect(transfers.list).toBe(before);
  transfers.apply({ changed: [transfer(9)], removed: [] });
  expect(transfers.list.map(({ id }) => id)).toEqual([9, 1]);
});

test("a list that is read anew forgets the former one", () => {
  transfers.reset([transfer(1), transfer(2)]);
  transfers.reset([transfer(5)]);
  expect(transfers.loaded).toBe(true);
  expect(transfers.list.map(({ id }) => id)).toEqual([5]);
});
