import type { Failure, FailureKind } from "./types";

const KINDS: readonly FailureKind[] = [
  "notRunning",
  "notFound",
  "notConnected",
  "timeout",
  "refused",
  "conflict",
  "usage",
  "internal",
];

export function isFailure(value: unknown): value is Failure {
  return (
    typeof value === "object" &&
    value !== null &&
    "kind" in value &&
    "message" in value &&
    typeof value.message === "string" &&
    KINDS.some((kind) => kind === value.kind)
  );
}

/** Whatever a command was rejected with, as a Failure. */
export function failure(error: unknown): Failure {
  if (isFailure(error)) return error;
  return { kind: "internal", message: error instanceof Error ? error.message : String(error) };
}
