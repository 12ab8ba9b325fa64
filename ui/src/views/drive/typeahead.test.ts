import { expect, it } from "vitest";
import { Typeahead } from "./typeahead";

it("joins keys that follow each other and begins anew after a pause", () => {
  const typeahead = new Typeahead();
  expect(typeahead.press("a", 1_000)).toBe("a");
  expect(typeahead.press(" ", 1_500)).toBe("a ");
  expect(typeahead.press("b", 2_000)).toBe("a b");
  expect(typeahead.press("c", 4_000)).toBe("c");
  expect(typeahead.press("Enter", 4_100)).toBeNull();
  expect(typeahead.press(" ", 9_000)).toBeNull();
});
