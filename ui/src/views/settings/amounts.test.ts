import { expect, test } from "vitest";
import { exactRate, exactSize, parseRate, parseSize } from "./amounts";

test("sizes are read with either decimal sign and any common unit", () => {
  expect(parseSize("1000000")).toBe(1_000_000);
  expect(parseSize("20GB")).toBe(20e9);
  expect(parseSize(" 1.5 gib ")).toBe(3 * 2 ** 29);
  expect(parseSize("1,5 GB")).toBe(1.5e9);
  expect(parseSize(".5 kB")).toBe(500);
  expect(parseSize("0")).toBe(0);
});

test("what is no size is none", () => {
  for (const bad of ["", "GB", "-1", "1.2.3", "1,000.5 MB", "5 parsecs", "1e5", "10000000 TB", "8 Mbit", "5 MB/s", "٣"]) {
    expect(parseSize(bad), bad).toBeNull();
  }
});

test("rates may be in bytes or bits per second, with or without saying so", () => {
  expect(parseRate("2 MB/s")).toBe(2e6);
  expect(parseRate("2MB")).toBe(2e6);
  expect(parseRate("16 Mbit/s")).toBe(2e6);
  expect(parseRate("16 Mbps")).toBeNull();
  expect(parseRate("800 kbit / s")).toBe(100_000);
  expect(parseRate("fast")).toBeNull();
  expect(parseRate("/s")).toBeNull();
});

test("what is shown reads back as exactly itself", () => {
  expect(exactSize(10e9, ".")).toBe("10 GB");
  expect(exactSize(1.5e9, ",")).toBe("1,5 GB");
  expect(exactSize(64_000_000, ".")).toBe("64 MB");
  expect(exactSize(1_234_567, ".")).toBe("1234.567 kB");
  expect(exactSize(999, ".")).toBe("999 B");
  expect(exactRate(2e6, ".")).toBe("2 MB/s");
  let bytes = 1;
  for (let step = 0; step < 500; step += 1) {
    bytes = (bytes * 48_271) % 2_147_483_647;
    for (const amount of [bytes, bytes * 1000, bytes * 4096]) {
      expect(parseSize(exactSize(amount, ","))).toBe(amount);
      expect(parseRate(exactRate(amount, "."))).toBe(amount);
    }
  }
});
