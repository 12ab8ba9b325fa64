import { expect, test } from "vitest";
import { fill } from "./message";

test("values are filled in, numbers as the language writes them", () => {
  expect(fill("{name} has {files}", { name: "Anna", files: 12_345 }, "en")).toBe("Anna has 12,345");
  expect(fill("{files}", { files: 12_345 }, "de")).toBe("12.345");
  expect(fill("{gone}", {}, "en")).toBe("{gone}");
});

test("a value that looks like a placeholder stays text", () => {
  expect(fill("{a} and {b}", { a: "{b}", b: "x" }, "en")).toBe("{b} and x");
});

test("a name that is written from right to left does not turn the sentence around", () => {
  expect(fill("{name} is shared", { name: "תמונות 1" }, "en")).toBe("\u2068תמונות 1\u2069 is shared");
  expect(fill("{name} is shared", { name: "Zoë" }, "en")).toBe("Zoë is shared");
});

test("the count chooses the form that the language wants", () => {
  const files = { one: "{count} file", few: "{count} few", other: "{count} files" };
  expect(fill(files, { count: 1 }, "en")).toBe("1 file");
  expect(fill(files, { count: 0 }, "en")).toBe("0 files");
  expect(fill(files, { count: 3 }, "en")).toBe("3 files");
  expect(fill(files, { count: 3 }, "pl")).toBe("3 few");
  expect(fill({ one: "a", other: "b" }, { count: 3 }, "pl")).toBe("b");
});
