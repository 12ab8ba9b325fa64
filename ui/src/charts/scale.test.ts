import { expect, test } from "vitest";
import { linear, plain, ticks, timeTicks } from "./scale";

test("ticks are round, start at 0 and end at or above the largest value", () => {
  expect(ticks(230, 4)).toEqual([0, 100, 200, 300]);
  expect(ticks(1, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  expect(ticks(7_300_000, 4)).toEqual([0, 2_000_000, 4_000_000, 6_000_000, 8_000_000]);
  expect(ticks(0.3, 3)).toEqual([0, 0.1, 0.2, 0.3]);
});

test("ticks of any value stay few and cover it", () => {
  for (let exponent = -3; exponent < 12; exponent += 0.37) {
    const largest = 10 ** exponent;
    for (const count of [1, 2, 4, 7]) {
      const found = ticks(largest, count);
      expect(found.length - 1, `${largest} in ${count}`).toBeLessThanOrEqual(count);
      expect(found.at(-1)).toBeGreaterThanOrEqual(largest * (1 - 1e-9));
    }
  }
});

test("an axis of nothing still has an end", () => {
  for (const largest of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(ticks(largest, 2)).toEqual([0, 0.5, 1]);
  }
});

test("time ticks are whole minutes where there is room", () => {
  expect(timeTicks(300, 5)).toEqual([-300, -240, -180, -120, -60, 0]);
  expect(timeTicks(300, 3)).toEqual([-240, -120, 0]);
  expect(timeTicks(3600, 6)).toEqual([-3600, -3000, -2400, -1800, -1200, -600, 0]);
  expect(timeTicks(3600, 0)).toEqual([-3600, 0]);
});

test("a linear scale maps its ends, also when they are one", () => {
  const x = linear(-300, 0, 10, 110);
  expect([x(-300), x(-150), x(0)]).toEqual([10, 60, 110]);
  expect(linear(0, 0, 5, 10)(0)).toBe(5);
});

test("an axis' figures are short, in any language", () => {
  for (const [measured, short] of [
    ["50.0 MB/s", "50 MB/s"],
    ["1,50 s", "1,5 s"],
    ["0.0 ms", "0 ms"],
    ["2.05 GB/s", "2.05 GB/s"],
    ["100 ms", "100 ms"],
    ["0.20", "0.2"],
  ]) {
    expect(plain(measured ?? "")).toBe(short);
  }
});
