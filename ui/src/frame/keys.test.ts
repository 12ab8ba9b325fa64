import { expect, test } from "vitest";
import { action, type Pressed } from "./keys";

const press = (key: string, more: Partial<Pressed> = {}) =>
  action({ key, ctrl: false, alt: false, shift: false, typing: false, ...more });

test("Ctrl and a digit go to a view, also while typing", () => {
  expect(press("1", { ctrl: true })).toEqual({ go: "contacts" });
  expect(press("8", { ctrl: true, typing: true })).toEqual({ go: "diagnostics" });
  expect(press("9", { ctrl: true })).toBeNull();
  expect(press("1")).toBeNull();
});

test("/ and ? are text where text is typed", () => {
  expect(press("/")).toBe("filter");
  expect(press("?", { shift: true })).toBe("help");
  expect(press("/", { typing: true })).toBeNull();
  expect(press("?", { typing: true, shift: true })).toBeNull();
});

test("a browser's own keys do nothing", () => {
  for (const key of ["k", "r", "p"]) expect(press(key, { ctrl: true })).toBe("nothing");
  expect(press("F5")).toBe("nothing");
  expect(press("R", { ctrl: true, shift: true })).toBe("nothing");
});

test("keys of the lists and of the text stay theirs", () => {
  for (const key of ["a", "c", "v", "x", "z"]) expect(press(key, { ctrl: true }), key).toBeNull();
  expect(press("1", { ctrl: true, alt: true })).toBeNull();
});
