import { beforeEach, expect, it, vi } from "vitest";
import { useBackend } from "../ipc/backend";
import type { DescribedPath, Path } from "../ipc/types";
import { flow } from "./flow.svelte";

const calls: { command: string; args: Record<string, unknown> }[] = [];

function described(path: Path): DescribedPath {
  const name = path.split("/").at(-1) ?? "";
  return { path, display: path, name, kind: "file", size: 5, problem: name === "bad" ? "It cannot be read." : null };
}

beforeEach(() => {
  vi.useFakeTimers();
  calls.length = 0;
  flow.close();
  useBackend({
    invoke: async (command, args) => {
      calls.push({ command, args });
      return command === "describe_paths" ? (args["paths"] as Path[]).map(described) : undefined;
    },
    listen: () => Promise.resolve(() => undefined),
    channel: (handler) => handler,
  });
});

it("asks of many paths in pieces", async () => {
  await flow.begin(Array.from({ length: 2_500 }, (_, index) => `/a/${index}`));
  expect(calls.map((call) => (call.args["paths"] as Path[]).length)).toEqual([1_000, 1_000, 500]);
  expect(flow.what.usable.length).toBe(2_500);
  expect(flow.reading).toBe(0);
});

it("adds to what is there while it is open, and begins anew when it was closed", async () => {
  await flow.begin(["/a/x"]);
  await flow.begin(["/a/y", "/a/bad"]);
  expect(flow.what.usable.map((one) => one.name)).toEqual(["x", "y"]);
  expect(flow.what.problems.map((one) => one.name)).toEqual(["bad"]);
  const late = flow.begin(["/a/z"]);
  flow.close();
  await late;
  await flow.begin(["/a/w"]);
  expect(flow.what.usable.map((one) => one.name)).toEqual(["w"]);
  expect(flow.reading).toBe(0);
});

it("shares under another name, and sends under its own", async () => {
  await flow.begin(["/a/x"], { contact: "Mia", how: "share" });
  expect([flow.ready, flow.name]).toEqual([true, "x"]);
  flow.name = "";
  expect(flow.ready).toBe(false);
  flow.name = "film";
  flow.writable = true;
  await flow.confirm();
  expect(calls.at(-1)).toEqual({
    command: "share",
    args: { paths: ["/a/x"], contact: "Mia", name: "film", writable: true },
  });
  expect(flow.open).toBe(false);

  await flow.begin(["/a/x"], { contact: "Mia", how: "send" });
  flow.name = "film";
  await flow.confirm();
  expect(calls.at(-1)).toEqual({ command: "push", args: { paths: ["/a/x"], contact: "Mia" } });
});

it("stays open with the reason when it failed", async () => {
  await flow.begin(["/a/x"], { contact: "Mia", how: "send" });
  useBackend({
    invoke: () => Promise.reject({ kind: "refused", message: "It does not fit." }),
    listen: () => Promise.resolve(() => undefined),
    channel: (handler) => handler,
  });
  await flow.confirm();
  expect([flow.open, flow.failure?.message, flow.working]).toEqual([true, "It does not fit.", false]);
});
