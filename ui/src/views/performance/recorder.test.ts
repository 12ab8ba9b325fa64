import { expect, test, vi } from "vitest";
import type { Latency, State } from "../../ipc";

const latency = (count: number, p50Ms: number): Latency => ({ count, p50Ms, p95Ms: 2 * p50Ms, p99Ms: 0, maxMs: 0 });

function state(change: Partial<State>): State {
  return {
    engine: { state: "running", hosted: true, failure: null },
    seek: { idle: latency(3, 210), loaded: latency(0, 0) },
    wire: { received: 1, sent: 2, rateIn: 30, rateOut: 40 },
    ...change,
  } as State;
}

test("what was not measured is nothing, not zero", async () => {
  vi.useFakeTimers();
  const { values } = await import("./recorder.svelte");
  expect(values(state({}))).toEqual([210, 420, null, null, 30, 40]);
  expect(values(state({ seek: null, wire: null }))).toEqual([null, null, null, null, null, null]);
  const failed = state({ engine: { state: "failed", hosted: true, failure: null } });
  expect(values(failed)).toEqual([null, null, null, null, null, null]);
  expect(values(null)).toEqual([null, null, null, null, null, null]);
  vi.useRealTimers();
});
