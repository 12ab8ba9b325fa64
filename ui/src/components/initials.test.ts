import { expect, test } from "vitest";
import { initials } from "./initials";

test.each([
  ["Anna Lindqvist", "AL"],
  ["anna", "A"],
  ["Eun-ji Park", "EP"],
  ["  ", "?"],
  ["🦊 fox", "🦊F"],
  ["a b c", "AC"],
])("%s", (name, letters) => expect(initials(name)).toBe(letters));
