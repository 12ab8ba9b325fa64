// Order and filter of a folder's entries. A listing may hold 100,000 of them, so each name gets its key for comparing
// once, and comparing is that of two plain strings.
import type { Entry } from "../../ipc/types";

/** An entry with what sorting and filtering need of its name. */
export interface Row {
  readonly entry: Entry;
  /** The name without case and accents. */
  readonly folded: string;
  /** The folded name, in which longer numbers come after shorter ones. */
  readonly key: string;
}

export type Column = "name" | "size" | "modified";

export interface Order {
  readonly column: Column;
  readonly descending: boolean;
}

const ASCII = /^[\x20-\x7e]*$/;

/** The text without case and accents, so that "resume" finds "Résumé". */
export function fold(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return text.normalize("NFKD").replace(/\p{M}+/gu, "").toLowerCase().replace(/ß/g, "ss");
}

/** Puts the count of its digits before each number: "9" becomes "19" and "10" becomes "210". */
export function naturalKey(folded: string): string {
  return folded.replace(/\d+/g, (digits) => {
    const number = digits.replace(/^0+(?=\d)/, "");
    // Beyond eight digits the count is one character of that code, so that it stays one character long.
    const length = number.length < 9 ? String(number.length) : `9${String.fromCharCode(number.length)}`;
    return length + number;
  });
}

export function toRow(entry: Entry): Row {
  const folded = fold(entry.name);
  return { entry, folded, key: naturalKey(folded) };
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function byName(a: Row, b: Row): number {
  return byText(a.key, b.key) || byText(a.entry.name, b.entry.name);
}

/** Folders come first whatever the order is. They have no size of their own: by size they keep the order of names. */
export function comparing(order: Order): (a: Row, b: Row) => number {
  const sign = order.descending ? -1 : 1;
  return (a, b) => {
    const folderA = a.entry.kind === "folder";
    const folderB = b.entry.kind === "folder";
    if (folderA !== folderB) return folderA ? -1 : 1;
    switch (order.column) {
      case "name":
        return sign * byName(a, b);
      case "size":
        return (folderA ? 0 : sign * (a.entry.size - b.entry.size)) || byName(a, b);
      case "modified":
        return sign * (a.entry.modifiedMs - b.entry.modifiedMs) || byName(a, b);
    }
  };
}

/** A click on a column: the other way round if it is the one already, else the way that is asked for most. */
export function nextOrder(order: Order, column: Column): Order {
  if (order.column === column) return { column, descending: !order.descending };
  return { column, descending: column !== "name" };
}

/** `sorted` with `more` in its place. Two sorted runs are merged in a time that grows with their length alone. */
export function merge(sorted: readonly Row[], more: readonly Entry[], order: Order): Row[] {
  const compare = comparing(order);
  const added = more.map(toRow).sort(compare);
  return sorted.length === 0 ? added : sorted.concat(added).sort(compare);
}

/** The rows whose name holds every word of `text`. */
export function filter(rows: readonly Row[], text: string): readonly Row[] {
  const words = fold(text).split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return rows;
  return rows.filter((row) => words.every((word) => row.folded.includes(word)));
}
