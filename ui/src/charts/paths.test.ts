import { expect, test } from "vitest";
import { band, line } from "./paths";

test("a line breaks at gaps, and a single place is drawn", () => {
  expect(line([])).toBe("");
  expect(line([null, { x: 0, y: 1 }, { x: 1.26, y: 2 }, null, { x: 3, y: 4 }])).toBe("M0 1L1.3 2M3 4L3 4");
});

test("a band goes there along the upper and back along the lower line", () => {
  const at = (x: number): { x: number; upper: number; lower: number } => ({ x, upper: 1, lower: 5 });
  expect(band([at(0), at(1), null, at(2)])).toBe("M0 1L1 1L1 5L0 5Z");
});
