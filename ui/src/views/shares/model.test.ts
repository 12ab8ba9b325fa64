import { expect, it } from "vitest";
import type { Share } from "../../ipc/types";
import { contactsOf, filtered, keyOf, sorted, typeOf } from "./model";

function share(name: string, contact: string): Share {
  return {
    path: `/home/me/${name}`,
    display: `/home/me/${name}`,
    with: contact,
    name,
    writable: false,
    state: "ready",
    entries: 1,
  };
}

const SHARES = [share("Film 10", "Mia"), share("film 9", "Mia"), share("Film 10", "Ben"), share("Übung", "Zoe")];

it("is sorted by name and contact", () => {
  expect(sorted(SHARES).map((one) => `${one.name} ${one.with}`)).toEqual([
    "film 9 Mia",
    "Film 10 Ben",
    "Film 10 Mia",
    "Übung Zoe",
  ]);
});

it("is found by name, place or contact", () => {
  expect(filtered(SHARES, "mia film").map((one) => one.name)).toEqual(["Film 10", "film 9"]);
  expect(filtered(SHARES, "ubung").length).toBe(1);
  expect(filtered(SHARES, " ")).toBe(SHARES);
});

it("tells one contact's share from another's", () => {
  expect(new Set(SHARES.map(keyOf)).size).toBe(4);
  expect(contactsOf(SHARES)).toBe("Mia, Ben, and Zoe");
});

it("takes a share for a file only if it looks like one", () => {
  expect(typeOf(share("Contract.pdf", "Mia"))).toBe("document");
  expect(typeOf({ ...share("Contract.pdf", "Mia"), entries: 2 })).toBe("folder");
  expect(typeOf(share("Contract", "Mia"))).toBe("folder");
});
