// Files that programs have open: playheads run, read-ahead runs before them, and now and then somebody jumps.
import type { OpenFile, Run } from "../types";
import { encode } from "./paths";
import type { Random } from "./random";

const BLOCK = 262_144;
const AHEAD = 48;
const CACHED = 1;
const DEMAND = 2;
const READ_AHEAD = 3;
const STATES: Readonly<Record<number, Run["state"]>> = { [CACHED]: "cached", [DEMAND]: "demand", [READ_AHEAD]: "ahead" };

type Playing = { display: string; size: number; opens: number; blocks: Uint8Array; heads: number[]; speed: number };

export function openFiles(chance: Random): { step(): void; told(): OpenFile[] } {
  const playing = (display: string, size: number, heads: number[], speed: number): Playing => {
    const blocks = new Uint8Array(Math.ceil(size / BLOCK));
    const filled = Math.floor(blocks.length * 0.03);
    for (const head of heads) blocks.fill(CACHED, Math.max(0, Math.floor(head * blocks.length) - filled), Math.floor(head * blocks.length));
    return { display, size, opens: heads.length, blocks, heads: heads.map((head) => Math.floor(head * blocks.length)), speed };
  };
  const files = [
    playing("Anna Lindqvist/Interview, final cut.mp4", 4_294_967_296, [0.12], 9),
    playing("Anna Lindqvist/Footage 2026-11/A001_C007_1128.mov", 2_910_000_000, [0.3, 0.61], 14),
    playing("studio/Soundtrack.flac", 412_000_000, [0.55], 1),
  ];

  function move(file: Playing): void {
    const { blocks } = file;
    file.heads = file.heads.map((head) => {
      // What was asked for has come.
      for (let at = 0; at < blocks.length; at += 1) if (blocks[at] === DEMAND) blocks[at] = CACHED;
      for (let at = head; at < Math.min(head + file.speed * 3, blocks.length); at += 1) if (blocks[at] === READ_AHEAD) blocks[at] = CACHED;
      const jump = chance.next() < 0.012;
      const next = jump ? chance.whole(0, blocks.length - 1) : (head + file.speed) % blocks.length;
      if (jump) {
        for (let at = 0; at < blocks.length; at += 1) if (blocks[at] === READ_AHEAD) blocks[at] = 0;
        blocks.fill(DEMAND, next, next + 4);
      }
      for (let at = next; at < Math.min(next + AHEAD, blocks.length); at += 1) if (blocks[at] === 0) blocks[at] = READ_AHEAD;
      return next;
    });
  }

  function runs(blocks: Uint8Array): Run[] {
    const found: Run[] = [];
    for (let at = 0; at < blocks.length; ) {
      const value = blocks[at] ?? 0;
      let end = at + 1;
      while (end < blocks.length && blocks[end] === value) end += 1;
      const state = STATES[value];
      if (state) found.push({ start: at, blocks: end - at, state });
      at = end;
    }
    return found;
  }

  return {
    step: () => files.forEach(move),
    told: () =>
      files.map((file) => ({
        path: encode(file.display),
        display: file.display,
        size: file.size,
        blockSize: BLOCK,
        opens: file.opens,
        runs: runs(file.blocks),
        playheads: file.heads.map((head) => head * BLOCK),
        hitRate: 0.93,
      })),
  };
}
