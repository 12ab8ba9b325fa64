// What of an open file is where, as cells that each stand for one or more blocks.
import type { OpenFile } from "../ipc/types";

/** What a cell shows, the most urgent of what its blocks are. */
export type CellState = "missing" | "part" | "cached" | "ahead" | "demand";

export interface BlockMap {
  cells: CellState[];
  /** Cells in which somebody reads. */
  playheads: number[];
  /** Blocks that a cell stands for; the last may stand for fewer. */
  blocksPerCell: number;
}

/** Bytes of a file by state. What is missing and not asked for is what the others leave. */
export interface Amounts {
  cached: number;
  demand: number;
  ahead: number;
  missing: number;
}

export function blockCount(file: OpenFile): number {
  return file.blockSize > 0 ? Math.ceil(file.size / file.blockSize) : 0;
}

/** A map of at most `room` cells. */
export function blockMap(file: OpenFile, room: number): BlockMap {
  const blocks = blockCount(file);
  const blocksPerCell = Math.max(1, Math.ceil(blocks / Math.max(1, room)));
  const count = Math.ceil(blocks / blocksPerCell);
  const cached = new Uint32Array(count);
  const urgent: (CellState | undefined)[] = new Array(count);
  for (const run of file.runs) {
    const end = Math.min(run.start + run.blocks, blocks);
    for (let at = Math.max(0, run.start); at < end; ) {
      const cell = Math.floor(at / blocksPerCell);
      const stop = Math.min(end, (cell + 1) * blocksPerCell);
      if (run.state === "cached") {
        cached[cell] = (cached[cell] ?? 0) + stop - at;
      } else if (urgent[cell] !== "demand") {
        urgent[cell] = run.state;
      }
      at = stop;
    }
  }
  const cells = Array.from(cached, (some, cell): CellState => {
    const all = Math.min(blocksPerCell, blocks - cell * blocksPerCell);
    return urgent[cell] ?? (some >= all ? "cached" : some > 0 ? "part" : "missing");
  });
  const places = file.playheads
    .map((byte) => Math.floor(byte / file.blockSize / blocksPerCell))
    .map((cell) => Math.min(Math.max(cell, 0), count - 1));
  const playheads = count === 0 ? [] : [...new Set(places)].sort((a, b) => a - b);
  return { cells, playheads, blocksPerCell };
}

export function amounts(file: OpenFile): Amounts {
  const blocks = blockCount(file);
  const sum: Amounts = { cached: 0, demand: 0, ahead: 0, missing: file.size };
  for (const run of file.runs) {
    const start = Math.min(Math.max(0, run.start), blocks);
    const end = Math.min(run.start + run.blocks, blocks);
    // The last block is shorter.
    const bytes = Math.max(0, Math.min(end * file.blockSize, file.size) - start * file.blockSize);
    sum[run.state] += bytes;
    sum.missing -= bytes;
  }
  sum.missing = Math.max(0, sum.missing);
  return sum;
}

/** How many cells fit side by side, and how many rows they take. */
export function grid(cells: number, width: number, pitch: number): { columns: number; rows: number } {
  const columns = Math.max(1, Math.floor(width / pitch));
  return { columns, rows: Math.ceil(cells / columns) };
}
