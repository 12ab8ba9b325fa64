import { beforeEach, expect, test } from "vitest";
import type { Settings } from "../../ipc";
import { useBackend } from "../../ipc/backend";
import { edit } from "./edit.svelte";

const initial: Settings = {
  relay: null,
  drive: null,
  mount: true,
  allowOther: false,
  listenPort: 0,
  lan: true,
  relayOnly: false,
  cacheDir: null,
  cacheLimit: 10_000_000_000,
  limitReceive: null,
  limitSend: null,
};

let stored: Settings;
let answers: Record<string, (settings?: Settings) => unknown>;
let asked: string[];

beforeEach(async () => {
  stored = initial;
  asked = [];
  answers = {
    settings: () => stored,
    set_settings: (settings) => {
      stored = settings ?? stored;
      return { settings: stored, restartNeeded: ["listenPort"] };
    },
    restart_engine: () => null,
  };
  useBackend({
    invoke: async (command, args) => {
      asked.push(command);
      return answers[command]?.(args["settings"] as Settings);
    },
    listen: async () => () => undefined,
    channel: (handler) => handler,
  });
  edit.discard();
  await edit.load();
});

function draft(): NonNullable<typeof edit.draft> {
  if (edit.draft === null) {
    throw new Error("there is no draft");
  }
  return edit.draft;
}

test("what is typed is a change until it is saved, and then needs a restart until there was one", async () => {
  expect(edit.changed).toEqual([]);
  draft().listenPort = "7000";
  draft().cacheLimit = "20 GB";
  expect(edit.changed).toEqual(["listenPort", "cacheLimit"]);
  await edit.save();
  expect(stored).toEqual({ ...initial, listenPort: 7000, cacheLimit: 20e9 });
  expect(edit.changed).toEqual([]);
  expect(edit.restartNeeded).toEqual(["listenPort"]);
  await edit.restart();
  expect(edit.restartNeeded).toEqual([]);
});

test("discarding brings back what is stored", () => {
  draft().relay = "relay.example";
  edit.discard();
  expect(draft().relay).toBe("");
  expect(edit.changed).toEqual([]);
});

test("saving leaves alone what was changed elsewhere meanwhile", async () => {
  draft().listenPort = "7000";
  stored = { ...initial, cacheLimit: 30e9 };
  await edit.save();
  expect(stored).toEqual({ ...initial, listenPort: 7000, cacheLimit: 30e9 });
  expect(draft().cacheLimit).toBe("30 GB");
});

test("what cannot be read is not sent", async () => {
  draft().listenPort = "x";
  await edit.save();
  expect(edit.problems).toEqual({ listenPort: "port" });
  expect(asked).not.toContain("set_settings");
});

test("a refusal keeps what was typed", async () => {
  answers["set_settings"] = () => {
    throw { kind: "refused", message: "Pinned files need more." };
  };
  draft().cacheLimit = "64 MB";
  await expect(edit.save()).rejects.toMatchObject({ kind: "refused" });
  expect(draft().cacheLimit).toBe("64 MB");
  expect(edit.saving).toBe(false);
});

test("looking again does not overwrite what somebody types, but what is stored since is shown", async () => {
  stored = { ...initial, relay: "relay.example" };
  draft().listenPort = "7000";
  await edit.load();
  expect(draft().relay).toBe("");
  edit.discard();
  await edit.load();
  expect(draft().relay).toBe("relay.example");
});

test("without settings there is a reason, and it goes when they can be read", async () => {
  answers["settings"] = () => {
    throw { kind: "notRunning", message: "Start it." };
  };
  await edit.load();
  expect([edit.draft, edit.failure?.message]).toEqual([null, "Start it."]);
  answers["settings"] = () => stored;
  await edit.load();
  expect([edit.draft?.mount, edit.failure]).toEqual([true, null]);
});
