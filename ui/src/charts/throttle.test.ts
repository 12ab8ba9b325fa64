import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Throttle } from "./throttle";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("runs at once, then at most once an interval, and the last wish is never lost", () => {
  const run = vi.fn();
  const throttle = new Throttle(250, run);
  throttle.want();
  expect(run).toHaveBeenCalledTimes(1);
  for (let wish = 0; wish < 10; wish += 1) {
    throttle.want();
    vi.advanceTimersByTime(10);
  }
  expect(run).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(150);
  expect(run).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(1000);
  expect(run).toHaveBeenCalledTimes(2);
});

test("stopping takes the wish back", () => {
  const run = vi.fn();
  const throttle = new Throttle(250, run);
  throttle.want();
  throttle.want();
  throttle.stop();
  vi.advanceTimersByTime(1000);
  expect(run).toHaveBeenCalledTimes(1);
});
