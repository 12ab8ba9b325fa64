import { expect, test } from "vitest";
import { OFFLINE } from "../../ipc/mock/contacts";
import type { Contact } from "../../ipc";
import { checkCode, pairLink } from "./code";

const CODE = `${"aB3_-".repeat(17)}A`;
const OWN = `${"b".repeat(85)}w`;
const KNOWN = `${"c".repeat(85)}Q`;
const ben: Contact = {
  name: "Ben",
  code: KNOWN,
  pairing: "paired",
  present: true,
  wanted: false,
  words: null,
  accept: null,
  session: OFFLINE,
};
const check = (text: string) => checkCode(text, OWN, [ben]);

test("a code is good, also broken into lines, with blanks around it, or in a link", () => {
  const broken = `  ${CODE.slice(0, 40)}\n> ${CODE.slice(40)}`.replace("> ", "");
  for (const text of [CODE, broken, pairLink(CODE), `farhold:pair/${CODE}`, `${pairLink(CODE)}/`]) {
    expect(check(text), text).toEqual({ state: "good", code: CODE });
  }
});

test("what is no code says why", () => {
  expect(check(" \n")).toEqual({ state: "empty" });
  expect(check(CODE.slice(1))).toEqual({ state: "length", count: 85 });
  expect(check(`${CODE}A`)).toEqual({ state: "length", count: 87 });
  expect(check(CODE.replace("_", "+"))).toEqual({ state: "character" });
  expect(check(CODE.slice(0, 85) + "B")).toEqual({ state: "character" });
  expect(check(OWN)).toEqual({ state: "own" });
  expect(check(KNOWN)).toEqual({ state: "known", name: "Ben" });
});
