import { describe, expect, test } from "vitest";
import { choose, move, scrollToShow, visibleRange, type Key } from "./virtual";

describe("the painted rows", () => {
  test("cover everything visible, and little more", () => {
    for (const count of [0, 1, 7, 100_000]) {
      for (const top of [-50, 0, 1, 35, 36, 3_599_000, 9_999_999]) {
        for (const height of [0, 10, 36, 400]) {
          const { start, end } = visibleRange(top, height, 36, count);
          expect(start).toBeGreaterThanOrEqual(0);
          expect(end).toBeLessThanOrEqual(count);
          const first = Math.max(0, top) / 36;
          const last = Math.min(count, (Math.max(0, top) + height) / 36);
          if (first < last) {
            expect(start).toBeLessThanOrEqual(first);
            expect(end).toBeGreaterThanOrEqual(last);
          }
          expect(end - start).toBeLessThanOrEqual(Math.ceil(height / 36) + 14);
        }
      }
    }
  });
});

describe("scrolling to a row", () => {
  test("moves as little as possible", () => {
    expect(scrollToShow(3, 0, 400, 40)).toBeNull();
    expect(scrollToShow(9, 0, 400, 40)).toBeNull();
    expect(scrollToShow(10, 0, 400, 40)).toBe(40);
    expect(scrollToShow(2, 100, 400, 40)).toBe(80);
  });

  test("ends with the row visible", () => {
    for (let row = 0; row < 50; row += 1) {
      for (const top of [0, 7, 333, 1_900]) {
        const to = scrollToShow(row, top, 120, 40) ?? top;
        expect(to).toBeLessThanOrEqual(row * 40);
        expect(to + 120).toBeGreaterThanOrEqual(row * 40 + 40);
      }
    }
  });

  test("shows the row's top where the window is lower than a row", () => {
    expect(scrollToShow(2, 0, 30, 40)).toBe(80);
    expect(scrollToShow(2, 80, 30, 40)).toBeNull();
  });
});

test("keys move within the list", () => {
  expect(move("ArrowDown", -1, 5, 3)).toBe(0);
  expect(move("ArrowUp", -1, 5, 3)).toBe(4);
  expect(move("ArrowDown", 4, 5, 3)).toBe(4);
  expect(move("ArrowUp", 0, 5, 3)).toBe(0);
  expect(move("PageDown", 1, 5, 3)).toBe(4);
  expect(move("PageUp", 1, 5, 3)).toBe(0);
  expect(move("PageDown", 1, 5, 0)).toBe(2);
  expect(move("Home", 3, 5, 3)).toBe(0);
  expect(move("End", 0, 5, 3)).toBe(4);
  expect(move("x", 0, 5, 3)).toBeNull();
  expect(move("ArrowDown", -1, 0, 3)).toBeNull();
});

describe("selecting", () => {
  const keys = (row: number): Key | undefined => "abcdef"[row];
  const of = (...chosen: Key[]) => new Set(chosen);

  test("one replaces the others", () => {
    expect(choose("multi", of("a", "b"), keys, 3, 0, "only")).toEqual(of("d"));
    expect(choose("single", of("a"), keys, 3, 0, "toggle")).toEqual(of("d"));
    expect(choose("single", of("a"), keys, 3, 0, "extend")).toEqual(of("d"));
  });

  test("toggles", () => {
    expect(choose("multi", of("a"), keys, 3, 0, "toggle")).toEqual(of("a", "d"));
    expect(choose("multi", of("a", "d"), keys, 3, 0, "toggle")).toEqual(of("a"));
  });

  test("extends from the anchor, both ways", () => {
    expect(choose("multi", of("c"), keys, 4, 2, "extend")).toEqual(of("c", "d", "e"));
    expect(choose("multi", of("c", "d", "e"), keys, 1, 2, "extend")).toEqual(of("b", "c"));
    expect(choose("multi", of(), keys, 1, -1, "extend")).toEqual(of("b"));
  });

  test("leaves everything where there is nothing to choose", () => {
    const before = of("a");
    expect(choose("none", before, keys, 3, 0, "only")).toBe(before);
    expect(choose("multi", before, keys, 99, 0, "only")).toBe(before);
  });
});
