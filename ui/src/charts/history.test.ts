import { describe, expect, test } from "vitest";
import { CAPACITY, History } from "./history";

const second = (n: number): number => n * 1000;

describe("History", () => {
  test("is empty before the first record", () => {
    expect(new History(1).read(second(10), 4, 4)).toEqual({ times: [-3, -2, -1, 0], columns: [[null, null, null, null]] });
  });

  test("the last record of a second wins, and a value holds until the next", () => {
    const history = new History(2);
    history.record(second(1), [1, null]);
    history.record(second(1) + 999, [2, 7]);
    history.record(second(4), [5, null]);
    expect(history.read(second(5), 6, 6).columns).toEqual([
      [null, 2, 2, 2, 5, 5],
      [null, 7, 7, 7, null, null],
    ]);
  });

  test("a long silence is a gap, not a line", () => {
    const history = new History(1);
    history.record(second(0), [1]);
    history.record(second(200), [2]);
    expect(history.read(second(200), 3, 3).columns).toEqual([[null, null, 2]]);
    expect(history.read(second(400), 3, 3).columns).toEqual([[null, null, null]]);
  });

  test("longer stretches are means of what is known", () => {
    const history = new History(1);
    [1, 3, null, 5].forEach((value, index) => history.record(second(index), [value]));
    expect(history.read(second(3), 4, 2)).toEqual({ times: [-2, 0], columns: [[2, 5]] });
  });

  test("what is older than its memory is forgotten", () => {
    const history = new History(1);
    for (let index = 0; index <= CAPACITY + 10; index += 1) {
      history.record(second(index), [index]);
    }
    const all = history.read(second(CAPACITY + 10), CAPACITY, CAPACITY).columns[0];
    expect(all?.[0]).toBe(11);
    expect(all?.at(-1)).toBe(CAPACITY + 10);
    expect(history.read(second(CAPACITY + 10), CAPACITY + 5, CAPACITY + 5).columns[0]?.slice(0, 6)).toEqual([
      null,
      null,
      null,
      null,
      null,
      11,
    ]);
  });

  test("a jump over the whole memory leaves nothing old behind", () => {
    const history = new History(1);
    for (let index = 0; index < CAPACITY; index += 1) {
      history.record(second(index), [1]);
    }
    history.record(second(3 * CAPACITY), [9]);
    const known = history.read(second(3 * CAPACITY), CAPACITY, CAPACITY).columns[0]?.filter((value) => value !== null);
    expect(known).toEqual([9]);
  });

  test("a record that comes late counts for the newest second", () => {
    const history = new History(1);
    history.record(second(5), [1]);
    history.record(second(4), [2]);
    expect(history.read(second(5), 2, 2).columns).toEqual([[null, 2]]);
  });
});
