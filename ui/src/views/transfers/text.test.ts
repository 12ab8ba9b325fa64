import { describe, expect, it } from "vitest";
import type { Transfer } from "../../ipc/types";
import { amount, figures, files, next, reasonLine, way } from "./text";

function transfer(rest: Partial<Transfer>): Transfer {
  return {
    id: 1,
    direction: "pull",
    contact: "Mia",
    name: "film",
    state: "running",
    reason: null,
    filesDone: 0,
    files: 1,
    bytesDone: 1_200_000,
    bytes: 3_400_000,
    rate: 2_000_000,
    remainingSeconds: 61,
    destination: null,
    destinationDisplay: null,
    ...rest,
  };
}

const plain = (text: string | null): string | null => text?.replaceAll("\u00a0", " ") ?? null;

describe("a transfer in words", () => {
  it("tells how much, how fast and how long", () => {
    expect(figures(transfer({})).map(plain)).toEqual(["1.20 MB of 3.40 MB", "2.00 MB/s", "1 min 1 s left"]);
    expect(figures(transfer({ rate: 0, remainingSeconds: null })).map(plain)).toEqual(["1.20 MB of 3.40 MB"]);
    expect(figures(transfer({ state: "paused", files: 3, filesDone: 1 })).map(plain)).toEqual([
      "1.20 MB of 3.40 MB",
      "1 of 3 files",
    ]);
  });

  it("tells the whole of what is done, and where it is", () => {
    const done = transfer({ state: "done", bytesDone: 3_400_000, files: 3, filesDone: 3, destinationDisplay: "~/Films" });
    expect(figures(done).map(plain)).toEqual(["3.40 MB", "3 files", "in ~/Films"]);
  });

  it("tells no figures that are not known", () => {
    expect(amount(transfer({ bytes: 0, files: 0, bytesDone: 0 }))).toBeNull();
    expect(files(transfer({ files: 1 }))).toBeNull();
  });

  it("tells from whom and what to do", () => {
    expect(way(transfer({ direction: "receive" }))).toBe("From Mia");
    expect(next(transfer({}))).toBeNull();
    expect(next(transfer({ state: "failed" }))).toBe("Retry fetches only what is missing.");
    expect(next(transfer({ state: "failed", direction: "serve" }))).toBe("Mia can try again from the other side.");
    expect(reasonLine(transfer({ reason: "a: gone.\nb: gone." }))).toBe("a: gone.");
    expect(reasonLine(transfer({ reason: " " }))).toBeNull();
  });
});
