// Amounts of bytes and rates as people type them; the command line reads the same.

const UNITS: Record<string, number> = {
  "": 1,
  b: 1,
  k: 1e3,
  kb: 1e3,
  m: 1e6,
  mb: 1e6,
  g: 1e9,
  gb: 1e9,
  t: 1e12,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
  kbit: 125,
  mbit: 125e3,
  gbit: 125e6,
};

/** Beyond this a number no longer holds every whole one. */
const LARGEST = 9e15;

/** Reads an amount such as `20 GB`, `1,5 GiB` or `1000000`, in bytes; `null` if it is none. */
export function parseSize(text: string): number | null {
  return parse(text, false);
}

/** Reads a rate such as `2 MB/s` or `16 Mbit/s`, in bytes per second; `null` if it is none. */
export function parseRate(text: string): number | null {
  return parse(text.trim().replace(/\s*\/\s*s$/i, ""), true);
}

function parse(text: string, bits: boolean): number | null {
  const found = /^(\d+(?:[.,]\d+)?|[.,]\d+)\s*([a-z]*)$/i.exec(text.trim());
  const [, number, unit] = found ?? [];
  if (number === undefined || unit === undefined) {
    return null;
  }
  const name = unit.toLowerCase();
  const factor = name.endsWith("bit") && !bits ? undefined : UNITS[name];
  if (factor === undefined) {
    return null;
  }
  const bytes = Math.round(Number(number.replace(",", ".")) * factor);
  return bytes <= LARGEST ? bytes : null;
}

/** An amount that reads back as exactly itself: in the largest unit that takes at most three decimals. */
export function exactSize(bytes: number, decimal: string): string {
  for (const [unit, factor] of [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3]] as const) {
    if (bytes >= factor && bytes % (factor / 1000) === 0) {
      return `${String(bytes / factor).replace(".", decimal)} ${unit}`;
    }
  }
  return `${bytes} B`;
}

/** A rate that reads back as exactly itself. */
export function exactRate(bytes: number, decimal: string): string {
  return `${exactSize(bytes, decimal)}/s`;
}
