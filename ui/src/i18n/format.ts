// Figures as people read them, in the current language. kB, MB, ... are powers of 1,000; a no-break space is before a unit.
import { language } from "./language.svelte";

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"] as const;
const SPACE = "\u00a0";

/** A number and its unit apart, for figures that are set in two sizes. */
export type Quantity = { value: string; unit: string };

const formats = new Map<string, Intl.NumberFormat>();
function decimal(value: number, digits: number): string {
  const key = `${language.current} ${digits}`;
  let format = formats.get(key);
  if (!format) {
    format = new Intl.NumberFormat(language.current, { minimumFractionDigits: digits, maximumFractionDigits: digits });
    formats.set(key, format);
  }
  return format.format(value);
}

/** Three digits that count: 1.23, 12.3, 123. */
function short(value: number): string {
  if (value >= 99.95) return decimal(value, 0);
  if (value >= 9.995) return decimal(value, 1);
  return decimal(value, 2);
}

export function bytesQuantity(bytes: number): Quantity {
  let value = Math.max(0, bytes);
  let unit = 0;
  // 999.5 and more would be written as 1,000 of the smaller unit.
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return { value: unit === 0 ? decimal(Math.round(value), 0) : short(value), unit: UNITS[unit] ?? "B" };
}

export function rateQuantity(bytesPerSecond: number): Quantity {
  const { value, unit } = bytesQuantity(bytesPerSecond);
  return { value, unit: `${unit}/s` };
}

/** Milliseconds; from one second on seconds. */
export function msQuantity(ms: number): Quantity {
  if (ms >= 999.5) return { value: short(ms / 1000), unit: "s" };
  return { value: decimal(ms, ms < 9.95 ? 1 : 0), unit: "ms" };
}

const join = ({ value, unit }: Quantity) => value + SPACE + unit;

export const bytes = (value: number) => join(bytesQuantity(value));
export const rate = (bytesPerSecond: number) => join(rateQuantity(bytesPerSecond));
export const ms = (value: number) => join(msQuantity(value));
export const count = (value: number) => decimal(Math.round(value), 0);

/** A share from 0 to 1 as whole percent; 100 % only when it is whole, 0 % only when it is nothing. */
export function percent(share: number): string {
  const whole = Math.round(share * 100);
  const held = share >= 1 ? 100 : share <= 0 ? 0 : Math.min(99, Math.max(1, whole));
  return decimal(held, 0) + SPACE + "%";
}

/** How long something takes: "45 s", "3 min 20 s", "2 h 5 min", "3 d 4 h". */
export function duration(seconds: number): string {
  const all = Math.max(0, Math.ceil(seconds));
  const part = (value: number, unit: string) => decimal(value, 0) + SPACE + unit;
  const two = (big: number, bigUnit: string, small: number, smallUnit: string) =>
    small === 0 ? part(big, bigUnit) : `${part(big, bigUnit)} ${part(small, smallUnit)}`;
  if (all < 60) return part(all, "s");
  if (all < 3600) return two(Math.floor(all / 60), "min", all % 60, "s");
  const minutes = Math.round(all / 60);
  if (minutes < 24 * 60) return two(Math.floor(minutes / 60), "h", minutes % 60, "min");
  const hours = Math.round(all / 3600);
  return two(Math.floor(hours / 24), "d", hours % 24, "h");
}

const dates = new Map<string, Intl.DateTimeFormat>();
/** Farthest from 1970 that a date can be, in milliseconds. */
const FARTHEST = 8.64e15;

/** Day and time of a moment in milliseconds since 1970, in the machine's time zone; nothing for what is no date. */
export function dateTime(moment: number): string {
  if (!(Math.abs(moment) <= FARTHEST)) return "";
  let format = dates.get(language.current);
  if (!format) {
    format = new Intl.DateTimeFormat(language.current, { dateStyle: "medium", timeStyle: "short" });
    dates.set(language.current, format);
  }
  return format.format(moment);
}
