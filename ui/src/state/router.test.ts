import { expect, test } from "vitest";
import { formatHash, parseHash, VIEWS } from "./router.svelte";

test("an address is a view with parameters, and back", () => {
  for (const view of VIEWS) {
    const route = { view, params: { path: "anna/Sch%C3%B6n & gut?#1", filter: "" } };
    expect(parseHash(formatHash(route))).toEqual(route);
  }
  expect(formatHash({ view: "drive", params: {} })).toBe("#drive");
});

test("an unknown address is the first view, without parameters", () => {
  for (const hash of ["", "#", "#nowhere?a=b", "#Drive", "#../drive"]) {
    expect(parseHash(hash), hash).toEqual({ view: "contacts", params: {} });
  }
});

test("a question mark in a parameter stays in it", () => {
  expect(parseHash("#drive?path=a%3Fb").params).toEqual({ path: "a?b" });
});
