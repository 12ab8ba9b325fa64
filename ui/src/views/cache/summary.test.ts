import { expect, test } from "vitest";
import type { OpenFile } from "../../ipc";
import { cachedShare, describe } from "./summary";

const BLOCK = 250_000;
const file: OpenFile = {
  path: "ada/film.mkv",
  display: "ada/film.mkv",
  size: 8 * BLOCK,
  blockSize: BLOCK,
  opens: 1,
  runs: [
    { start: 0, blocks: 4, state: "cached" },
    { start: 4, blocks: 1, state: "demand" },
    { start: 5, blocks: 2, state: "ahead" },
  ],
  playheads: [4 * BLOCK],
  hitRate: 0.5,
};
const plain = (text: string): string => text.replaceAll("\u00a0", " ");

test("a map is told in words", () => {
  expect(plain(describe(file))).toBe(
    "ada/film.mkv: 1.00 MB of 2.00 MB here, 250 kB asked for now, 500 kB being read ahead, 250 kB missing. Read at 50 %.",
  );
});

test("nobody hears a hundred places, and an empty file has none", () => {
  const many = { ...file, playheads: Array.from({ length: 100 }, (_, index) => (index % 8) * BLOCK) };
  expect(describe(many).match(/%/g)?.length).toBe(5);
  const empty = { ...file, size: 0, runs: [], playheads: [0] };
  expect(describe(empty)).not.toContain("Read at");
  expect(cachedShare(empty)).toBe(1);
  expect(cachedShare(file)).toBe(0.5);
});
