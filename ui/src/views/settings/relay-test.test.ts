import { expect, test } from "vitest";
import { useBackend } from "../../ipc/backend";
import { RelayTest } from "./relay-test.svelte";

type Answer = { resolve: (value: unknown) => void; reject: (reason: unknown) => void };

test("a result is of its address only, whatever comes first", async () => {
  const open = new Map<string, Answer>();
  useBackend({
    invoke: (_, args) =>
      new Promise((resolve, reject) => open.set(String(args["address"]), { resolve, reject })),
    listen: async () => () => undefined,
    channel: (handler) => handler,
  });
  const relay = new RelayTest();
  expect(relay.of("")).toBeNull();
  const first = relay.run("old.example");
  const second = relay.run(" new.example ");
  expect(relay.of("new.example")).toEqual({ state: "running" });
  open.get("new.example")?.resolve({ roundTripMs: 12 });
  await second;
  open.get("old.example")?.reject({ kind: "timeout", message: "No answer." });
  await first;
  expect(relay.of("new.example")).toEqual({ state: "good", roundTripMs: 12 });
  expect(relay.of("old.example")).toBeNull();
  const third = relay.run("bad.example");
  open.get("bad.example")?.reject({ kind: "timeout", message: "No answer." });
  await third;
  expect(relay.of("bad.example")).toEqual({ state: "bad", message: "No answer." });
});
