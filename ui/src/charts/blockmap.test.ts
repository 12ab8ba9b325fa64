import { describe, expect, test } from "vitest";
import type { OpenFile, Run } from "../ipc/types";
import { amounts, blockCount, blockMap, grid } from "./blockmap";

const BLOCK = 256 * 1024;

function file(blocks: number, runs: Run[], playheads: number[] = [], short = 0): OpenFile {
  const size = blocks * BLOCK - short;
  return { path: "ada/film", display: "ada/film", size, blockSize: BLOCK, opens: 1, runs, playheads, hitRate: null };
}

describe("blockMap", () => {
  test("with room for all, a cell is a block", () => {
    const map = blockMap(
      file(6, [
        { start: 0, blocks: 2, state: "cached" },
        { start: 2, blocks: 1, state: "demand" },
        { start: 3, blocks: 2, state: "ahead" },
      ], [2 * BLOCK + 5]),
      100,
    );
    expect(map).toEqual({
      cells: ["cached", "cached", "demand", "ahead", "ahead", "missing"],
      playheads: [2],
      blocksPerCell: 1,
    });
  });

  test("a cell of several blocks shows the most urgent, and whether it is whole", () => {
    const map = blockMap(
      file(10, [
        { start: 0, blocks: 3, state: "cached" },
        { start: 3, blocks: 1, state: "ahead" },
        { start: 4, blocks: 4, state: "cached" },
        { start: 9, blocks: 1, state: "cached" },
      ]),
      3,
    );
    expect(map.blocksPerCell).toBe(4);
    expect(map.cells).toEqual(["ahead", "cached", "part"]);
    const both: Run[] = [
      { start: 0, blocks: 1, state: "demand" },
      { start: 1, blocks: 1, state: "ahead" },
    ];
    expect(blockMap(file(4, both), 1).cells).toEqual(["demand"]);
    expect(blockMap(file(4, both.reverse()), 1).cells).toEqual(["demand"]);
  });

  test("the last cell is whole when its fewer blocks are", () => {
    expect(blockMap(file(9, [{ start: 8, blocks: 1, state: "cached" }]), 3).cells).toEqual([
      "missing",
      "missing",
      "part",
    ]);
    expect(blockMap(file(10, [{ start: 8, blocks: 2, state: "cached" }]), 3).cells.at(-1)).toBe("cached");
  });

  test("what lies outside the file changes nothing, and playheads stay inside", () => {
    const map = blockMap(file(2, [{ start: 1, blocks: 50, state: "cached" }], [99 * BLOCK, 98 * BLOCK]), 10);
    expect(map.cells).toEqual(["missing", "cached"]);
    expect(map.playheads).toEqual([1]);
  });

  test("an empty file has no cells", () => {
    expect(blockMap(file(0, [], [0]), 10)).toEqual({ cells: [], playheads: [], blocksPerCell: 1 });
    expect(blockCount({ ...file(1, []), blockSize: 0 })).toBe(0);
  });

  test("there are never more cells than room", () => {
    for (const blocks of [1, 7, 100, 163_840]) {
      for (const room of [0, 1, 33, 600]) {
        expect(blockMap(file(blocks, []), room).cells.length).toBeLessThanOrEqual(Math.max(1, room));
      }
    }
  });
});

test("amounts count the shorter last block as what it is, and add up to the size", () => {
  const open = file(4, [
    { start: 0, blocks: 1, state: "demand" },
    { start: 1, blocks: 1, state: "ahead" },
    { start: 3, blocks: 1, state: "cached" },
  ], [], 1000);
  expect(amounts(open)).toEqual({ demand: BLOCK, ahead: BLOCK, cached: BLOCK - 1000, missing: BLOCK });
  expect(amounts(file(0, []))).toEqual({ demand: 0, ahead: 0, cached: 0, missing: 0 });
});

test("a grid has at least one column", () => {
  expect(grid(10, 100, 12)).toEqual({ columns: 8, rows: 2 });
  expect(grid(10, 5, 12)).toEqual({ columns: 1, rows: 10 });
});
