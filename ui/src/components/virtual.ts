// What VirtualList computes: which rows are painted, where to scroll, where a key moves to, what is selected.

export type Range = { start: number; end: number };

/** Rows painted above and below the window, so that a quick scroll shows no gap. */
const OVERSCAN = 6;

/** The rows to paint. `top` and `height` are the visible part, in pixels from the first row. */
export function visibleRange(top: number, height: number, rowHeight: number, count: number): Range {
  if (count === 0 || rowHeight <= 0) return { start: 0, end: 0 };
  const first = Math.floor(Math.max(0, top) / rowHeight);
  const last = Math.ceil((Math.max(0, top) + Math.max(0, height)) / rowHeight);
  const end = Math.min(count, last + OVERSCAN);
  return { start: Math.max(0, Math.min(first, count) - OVERSCAN), end };
}

/** Where to scroll so that the row is wholly visible: as little as possible, null when it is already. */
export function scrollToShow(row: number, top: number, height: number, rowHeight: number): number | null {
  const from = row * rowHeight;
  const to = from + rowHeight;
  // A window lower than a row shows the row's top.
  if (from < top || height < rowHeight) return from === top ? null : from;
  if (to > top + height) return to - height;
  return null;
}

/** Where a key moves the active row (-1: none yet); null when it is not such a key. */
export function move(key: string, active: number, count: number, page: number): number | null {
  if (count === 0) return null;
  const last = count - 1;
  const within = (row: number) => Math.min(last, Math.max(0, row));
  switch (key) {
    case "ArrowDown":
      return within(active + 1);
    case "ArrowUp":
      return active < 0 ? last : within(active - 1);
    case "PageDown":
      return within(active + Math.max(1, page));
    case "PageUp":
      return within(active - Math.max(1, page));
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return null;
  }
}

export type Key = string | number;
export type Selecting = "none" | "single" | "multi";
/** `only` replaces the selection, `toggle` adds or takes one away, `extend` takes everything from the anchor on. */
export type How = "only" | "toggle" | "extend";

/** The selection after `row` was chosen. `anchor` is the row that was last chosen without extending. */
export function choose(
  selecting: Selecting,
  selected: ReadonlySet<Key>,
  keys: (row: number) => Key | undefined,
  row: number,
  anchor: number,
  how: How,
): ReadonlySet<Key> {
  const key = keys(row);
  if (selecting === "none" || key === undefined) return selected;
  if (selecting === "single" || how === "only" || (how === "extend" && anchor < 0)) return new Set([key]);
  if (how === "toggle") {
    const next = new Set(selected);
    if (!next.delete(key)) next.add(key);
    return next;
  }
  const next = new Set<Key>();
  for (let at = Math.min(anchor, row); at <= Math.max(anchor, row); at += 1) {
    const one = keys(at);
    if (one !== undefined) next.add(one);
  }
  return next;
}
