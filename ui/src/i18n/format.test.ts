import { afterEach, expect, test } from "vitest";
import * as format from "./format";
import { language } from "./index";

const plain = (text: string) => text.replaceAll("\u00a0", " ");

afterEach(() => language.set("en"));

test("bytes have three digits that count and powers of 1,000", () => {
  const told = (bytes: number) => plain(format.bytes(bytes));
  expect(told(0)).toBe("0 B");
  expect(told(999)).toBe("999 B");
  expect(told(1_000)).toBe("1.00 kB");
  expect(told(12_340)).toBe("12.3 kB");
  expect(told(999_499)).toBe("999 kB");
  expect(told(999_500)).toBe("1.00 MB");
  expect(told(4_294_967_296)).toBe("4.29 GB");
  expect(told(9_995_000)).toBe("10.0 MB");
  expect(told(-5)).toBe("0 B");
});

test("numbers follow the language", () => {
  language.set("de");
  expect(plain(format.rate(1_230_000))).toBe("1,23 MB/s");
  expect(format.count(1_234_567)).toBe("1.234.567");
});

test("milliseconds become seconds", () => {
  expect(plain(format.ms(1.24))).toBe("1.2 ms");
  expect(plain(format.ms(212.4))).toBe("212 ms");
  expect(plain(format.ms(1_500))).toBe("1.50 s");
});

test("only what is whole is 100 %, only what is nothing is 0 %", () => {
  expect(plain(format.percent(0.9999))).toBe("99 %");
  expect(plain(format.percent(1))).toBe("100 %");
  expect(plain(format.percent(0.0001))).toBe("1 %");
  expect(plain(format.percent(0))).toBe("0 %");
});

test("durations have at most two units", () => {
  const told = (seconds: number) => plain(format.duration(seconds));
  expect(told(0.2)).toBe("1 s");
  expect(told(59)).toBe("59 s");
  expect(told(200)).toBe("3 min 20 s");
  expect(told(3_600)).toBe("1 h");
  expect(told(7_500)).toBe("2 h 5 min");
  expect(told(86_399)).toBe("1 d");
  expect(told(3 * 86_400 + 4 * 3_600)).toBe("3 d 4 h");
});

test("a moment that is no date is nothing, whatever a contact's disk says", () => {
  expect(format.dateTime(Date.UTC(2026, 10, 30, 12))).toContain("2026");
  for (const moment of [9.3e18, -9.3e18, 8.64e15 + 1, Number.NaN]) expect(format.dateTime(moment)).toBe("");
});
