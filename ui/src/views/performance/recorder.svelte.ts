// What the charts show, recorded from the shell's states from the start of the window on, whatever view is shown.
import { History, type Points } from "../../charts/history";
import type { Latency, State } from "../../ipc";
import { app } from "../../state/app.svelte";

/** The columns of the history. */
const COLUMNS = ["idleMedian", "idleP95", "loadedMedian", "loadedP95", "rateIn", "rateOut"] as const;
type Column = (typeof COLUMNS)[number];

/** Less than the history takes a value to hold: a state comes only when something has changed. */
const AGAIN_MS = 30_000;

/** One value per column; `null` where nothing is known. */
export function values(state: State | null): (number | null)[] {
  if (state?.engine.state !== "running") {
    return COLUMNS.map(() => null);
  }
  const quantile = (latency: Latency | undefined, of: "p50Ms" | "p95Ms"): number | null =>
    latency === undefined || latency.count === 0 ? null : latency[of];
  const { seek, wire } = state;
  const all: Record<Column, number | null> = {
    idleMedian: quantile(seek?.idle, "p50Ms"),
    idleP95: quantile(seek?.idle, "p95Ms"),
    loadedMedian: quantile(seek?.loaded, "p50Ms"),
    loadedP95: quantile(seek?.loaded, "p95Ms"),
    rateIn: wire?.rateIn ?? null,
    rateOut: wire?.rateOut ?? null,
  };
  return COLUMNS.map((column) => all[column]);
}

const recorded = new History(COLUMNS.length);
const record = (): void => recorded.record(performance.now(), values(app.state));

$effect.root(() => {
  $effect(record);
});
setInterval(record, AGAIN_MS);

/** The last `seconds` before `now`. */
export function recent(now: number, seconds: number): { times: number[]; of: (column: Column) => Points["columns"][number] } {
  const { times, columns } = recorded.read(now, seconds, seconds > 600 ? 180 : 150);
  return { times, of: (column) => columns[COLUMNS.indexOf(column)] ?? [] };
}
