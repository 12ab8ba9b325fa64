import { expect, test } from "vitest";
import { failure } from "./failure";

test("a failure stays what it is", () => {
  const told = { kind: "notConnected", message: "Anna is not connected." };
  expect(failure(told)).toBe(told);
});

test("anything else is an internal one with its text", () => {
  expect(failure(new Error("broken"))).toEqual({ kind: "internal", message: "broken" });
  expect(failure("text")).toEqual({ kind: "internal", message: "text" });
  expect(failure({ kind: "strange", message: "x" }).kind).toBe("internal");
  expect(failure(null).kind).toBe("internal");
});
