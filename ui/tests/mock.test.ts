import { expect, test } from "vitest";
import source from "../src/ipc/index.ts?raw";
import { COMMANDS } from "../src/ipc/mock/commands";
import { decode, encode } from "../src/ipc/mock/paths";
import { SCENARIOS, World } from "../src/ipc/mock/world";

test("every command of the page is answered, and no other", () => {
  const called = [...source.matchAll(/call<[^(]*>\("(\w+)"/g)].map((found) => found[1]);
  expect(called.length).toBeGreaterThan(40);
  expect(Object.keys(COMMANDS).sort()).toEqual([...new Set(called)].sort());
});

test.each(SCENARIOS)("%s begins the same every time", (scenario) => {
  const begin = () => new World(scenario, new URLSearchParams(), () => {});
  const [one, other] = [begin(), begin()];
  expect(one.state).toEqual(other.state);
  expect([...one.transfers]).toEqual([...other.transfers]);
});

test("paths are percent-encoded bytes", () => {
  expect(encode("Fotos – ü/a b.txt")).toBe("Fotos%20%E2%80%93%20%C3%BC/a%20b.txt");
  expect(decode(encode("Fotos – ü/a b.txt"))).toBe("Fotos – ü/a b.txt");
});
