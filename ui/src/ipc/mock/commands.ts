// What the mock backend answers, command by command.
import type { Arguments } from "../backend";
import type { Contact, Failure, FailureKind, Path, Preferences, Settings, Transfer } from "../types";
import { contact, lost, OFFLINE } from "./contacts";
import { decode, encode, lastName } from "./paths";
import { change, entries, find } from "./tree";
import type { World } from "./world";

export function fail(kind: FailureKind, message: string): never {
  const failure: Failure = { kind, message };
  throw failure;
}

type Command = (world: World, args: Arguments) => unknown;
type Send = (message: unknown) => void;

const text = (args: Arguments, name: string): string => String(args[name]);
const paths = (args: Arguments): Path[] => args["paths"] as Path[];
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const names = (path: Path) => decode(path).split("/").filter((name) => name !== "");
const shown = (path: Path) => decode(path).replace(/^\/home\/sam/, "~");

function known(world: World, name: string): Contact {
  return world.state.contacts.find((one) => one.name === name) ?? fail("notFound", `There is no contact ${name}. Choose one of the list.`);
}

function transfer(world: World, args: Arguments): Transfer {
  return world.transfers.get(Number(args["id"])) ?? fail("notFound", "There is no such transfer any more.");
}

function node(world: World, path: Path) {
  return find(world.root, names(path)) ?? fail("notFound", `There is no ${decode(path)} any more. Look at the folder again.`);
}

function addTransfer(world: World, more: Partial<Transfer> & Pick<Transfer, "name" | "contact" | "direction">): void {
  const id = Math.max(0, ...world.transfers.keys()) + 1;
  const connected = known(world, more.contact).session.state === "connected";
  world.put({
    id,
    state: connected ? "running" : "waiting",
    reason: connected ? null : `${more.contact} is not connected. It goes on by itself when the connection is back.`,
    filesDone: 0,
    files: 12,
    bytesDone: 0,
    bytes: 1_800_000_000,
    rate: 0,
    remainingSeconds: null,
    destination: null,
    destinationDisplay: null,
    ...more,
  });
}

const setState = (world: World, one: Transfer, state: Transfer["state"]) =>
  world.put({ ...one, state, rate: 0, remainingSeconds: null, reason: null });

let watching: ReturnType<typeof setInterval> | undefined;

const HOLDERS = [
  { pid: 4_212, program: "mpv", file: "Anna Lindqvist/Interview, final cut.mp4" },
  { pid: 3_987, program: "bash", file: "Anna Lindqvist/Scripts" },
];

export const COMMANDS: Readonly<Record<string, Command>> = {
  state: ({ state }) => state,
  transfers: ({ transfers }) => [...transfers.values()],
  preferences: ({ preferences }) => preferences,
  set_preferences: (world, args) => {
    world.preferences = args["preferences"] as Preferences;
  },
  settings: ({ settings }) => settings,
  set_settings: (world, args) => {
    const next = args["settings"] as Settings;
    if (next.relay !== null && !/^[^\s:]+(:\d+)?$/.test(next.relay)) {
      fail("usage", `${next.relay} is no relay's address. Write it as HOST or HOST:PORT, such as relay.example.org:7480.`);
    }
    const keys = ["listenPort", "cacheDir", "allowOther"] as const;
    const restartNeeded = keys.filter((key) => next[key] !== world.settings[key]);
    world.settings = next;
    world.state = {
      ...world.state,
      network: world.state.network && { ...world.state.network, relay: next.relay, relayState: next.relay === null ? "none" : "connected", relayReason: null },
      cache: world.state.cache && { ...world.state.cache, limit: next.cacheLimit },
    };
    return { settings: next, restartNeeded };
  },
  restart_engine: async (world) => {
    world.state = { ...world.state, engine: { ...world.state.engine, state: "starting", failure: null } };
    world.tell();
    await pause(1200);
    world.restart(world.scenario === "failed" ? "busy" : world.scenario);
  },
  test_relay: async (_, args) => {
    await pause(600);
    const address = text(args, "address");
    if (!/^[^\s:]+(:\d+)?$/.test(address)) fail("usage", `${address} is no relay's address. Write it as HOST or HOST:PORT, such as relay.example.org:7480.`);
    if (address.startsWith("no")) fail("timeout", `No answer from ${address} within 5 s. Check the address and the network.`);
    return { roundTripMs: 43.2 };
  },

  add_contact: (world, args) => {
    const name = text(args, "name");
    if (world.state.contacts.some((one) => one.name === name)) fail("conflict", `There is a contact ${name} already. Choose another name.`);
    const one = contact(name, world.chance, { code: text(args, "code"), pairing: "pending", present: null, wanted: true });
    world.state = { ...world.state, contacts: [...world.state.contacts, one] };
    setTimeout(() => {
      world.edit(name, (now) => ({ ...now, pairing: "provisional", present: true, words: "meadow copper lantern drift", session: { ...OFFLINE, state: "connecting" } }));
      world.root = world.plant();
    }, 4000);
  },
  rename_contact: (world, args) => {
    const old = text(args, "old");
    const name = text(args, "new");
    known(world, old);
    if (old !== name && world.state.contacts.some((one) => one.name === name)) fail("conflict", `There is a contact ${name} already. Choose another name.`);
    world.edit(old, (one) => ({ ...one, name }));
    world.root = world.plant();
  },
  remove_contact: (world, args) => {
    const name = known(world, text(args, "name")).name;
    world.state = {
      ...world.state,
      contacts: world.state.contacts.filter((one) => one.name !== name),
      shares: world.state.shares.filter((one) => one.with !== name),
    };
    for (const one of world.transfers.values()) if (one.contact === name) world.forget(one.id);
    world.root = world.plant();
  },
  connect: (world, args) => {
    const { name } = known(world, text(args, "name"));
    world.edit(name, (one) => ({ ...one, wanted: true, session: { ...OFFLINE, state: "connecting" } }));
  },
  disconnect: (world, args) => {
    const { name, present } = known(world, text(args, "name"));
    world.edit(name, (one) => ({ ...lost(one), present, wanted: false }));
  },
  accept_pushes: (world, args) => {
    const folder = args["folder"] as Path | null;
    world.edit(text(args, "contact"), (one) => ({ ...one, accept: folder === null ? null : { path: folder, display: shown(folder) } }));
  },
  copy_text: () => undefined,
  qr: (world) => {
    const cells = Array.from({ length: 41 * 41 }, (_, index) => ({ x: index % 41, y: Math.floor(index / 41) }));
    const squares = cells.filter(() => world.chance.next() < 0.48).map(({ x, y }) => `M${x + 4} ${y + 4}h1v1h-1z`);
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 49 49"><path fill="#fff" d="M0 0h49v49H0z"/><path d="${squares.join("")}"/></svg>`;
  },

  mount: (world) => {
    world.state = { ...world.state, drive: { point: "/home/sam/Farhold", state: "mounted", reason: null } };
  },
  unmount: (world, args) => {
    if (args["force"] !== true && world.files) return HOLDERS;
    world.state = { ...world.state, drive: { point: "/home/sam/Farhold", state: "unmounted", reason: null } };
    return [];
  },
  open_drive: () => undefined,
  show_in_folder: () => undefined,
  list: async (world, args) => {
    const path = text(args, "path");
    const top = node(world, path);
    const all = entries(top, path);
    for (let at = 0; at < all.length; at += 1000) {
      (args["channel"] as Send)(all.slice(at, at + 1000));
      await pause(1);
    }
    const parts = names(path);
    const crumbs = parts.map((name, index) => ({ path: encode(parts.slice(0, index + 1).join("/")), name }));
    return { crumbs: [{ path: "", name: "" }, ...crumbs], entries: all.length, contact: parts[0] ?? null };
  },
  watch_open_files: (world, args) => {
    clearInterval(watching);
    const send = args["channel"] as Send;
    const tell = () => send(world.files?.told() ?? []);
    tell();
    watching = setInterval(tell, 200);
  },
  unwatch_open_files: () => clearInterval(watching),
  pin: (world, args) => {
    const path = text(args, "path");
    change(node(world, path), (one) => (one.pinned = true));
    const pin = { path, display: decode(path), state: "fetching" as const, files: 12, bytes: 640_000_000, cached: 0, reason: null };
    world.state = { ...world.state, pins: [...world.state.pins.filter((one) => one.path !== path), pin] };
  },
  unpin: (world, args) => {
    const path = text(args, "path");
    const found = find(world.root, names(path));
    if (found) change(found, (one) => (one.pinned = false));
    world.state = { ...world.state, pins: world.state.pins.filter((one) => one.path !== path) };
  },
  drop_cache: (world, args) => {
    const path = args["path"] as Path | null;
    change(node(world, path ?? ""), (one) => {
      if (one.kind === "file" && one.home === "theirs" && !one.pinned) one.cached = "none";
    });
    const { cache } = world.state;
    world.state = { ...world.state, cache: cache && { ...cache, used: path === null ? 0 : cache.used * 0.9 } };
  },

  pick_files: () => ["/home/sam/Pictures/Aurora.jpg", "/home/sam/Documents/Offer.pdf"],
  pick_folder: () => "/home/sam/Received",
  paste_paths: () => ["/home/sam/Pictures/Aurora.jpg"],
  describe_paths: (_, args) =>
    paths(args).map((path) => {
      const name = lastName(path);
      const file = /\.\w+$/.test(name);
      const problem = name.includes("\uFFFD") ? "The system passed this name on damaged. Choose it with the button instead." : null;
      return { path, display: shown(path), name, kind: file ? "file" : "folder", size: file ? 4_812_000 : null, problem };
    }),
  share: (world, args) => {
    const name = args["name"] as string | null;
    const made = paths(args).map((path) => ({
      path,
      display: shown(path),
      with: known(world, text(args, "contact")).name,
      name: name ?? lastName(path),
      writable: args["writable"] === true,
      state: "ready" as const,
      entries: 42,
    }));
    const twice = made.find((one) => world.state.shares.some((other) => other.path === one.path && other.with === one.with));
    if (twice) fail("conflict", `${twice.display} is shared with ${twice.with} already.`);
    world.state = { ...world.state, shares: [...world.state.shares, ...made] };
  },
  unshare: (world, args) => {
    const shares = world.state.shares.filter((one) => one.path !== args["path"] || one.with !== args["contact"]);
    world.state = { ...world.state, shares };
  },
  push: (world, args) => {
    for (const path of paths(args)) addTransfer(world, { direction: "push", contact: text(args, "contact"), name: lastName(path) });
  },
  pull: (world, args) => {
    const path = text(args, "path");
    const destination = (args["destination"] as Path | null) ?? "/home/sam/Downloads";
    addTransfer(world, { direction: "pull", contact: names(path)[0] ?? "", name: lastName(path), destination, destinationDisplay: shown(destination) });
  },
  accept_offer: (world, args) => {
    const folder = (args["folder"] as Path | null) ?? "/home/sam/Downloads";
    const one = transfer(world, args);
    if (one.state !== "offered") fail("conflict", "It was answered already.");
    world.put({ ...one, state: "running", destination: folder, destinationDisplay: shown(folder) });
  },
  decline_offer: (world, args) => setState(world, transfer(world, args), "cancelled"),
  pause: (world, args) => setState(world, transfer(world, args), "paused"),
  resume: (world, args) => setState(world, transfer(world, args), "running"),
  cancel: (world, args) => setState(world, transfer(world, args), "cancelled"),
  pause_all: (world) => {
    for (const one of world.transfers.values()) if (["running", "queued", "waiting"].includes(one.state)) setState(world, one, "paused");
  },
  resume_all: (world) => {
    for (const one of world.transfers.values()) if (one.state === "paused") setState(world, one, "running");
  },
  forget_transfers: (world, args) => {
    const ids = args["ids"] as number[] | null;
    for (const one of [...world.transfers.values()]) {
      const finished = ["done", "failed", "cancelled"].includes(one.state);
      if (finished && (ids === null || ids.includes(one.id))) world.forget(one.id);
    }
  },

  doctor: async (world) => {
    await pause(400);
    const relay = world.state.network?.relayState === "connected";
    return [
      { name: "drive", state: "ok", message: "FUSE works: the drive can be mounted.", fix: null },
      { name: "secrets", state: "ok", message: "The key is kept in the system's keychain.", fix: null },
      relay
        ? { name: "relay", state: "ok", message: "relay.example.org:7480 answers after 43 ms.", fix: null }
        : { name: "relay", state: "failed", message: "No relay answers, so contacts outside of this network cannot be found.", fix: "Set the relay in Settings and test it." },
      { name: "port", state: "warning", message: "No fixed port is set for direct connections.", fix: "Set one in Settings and forward it in the router, if connections are relayed." },
    ];
  },
  preview_diagnostics: ({ state }) => `farhold ${state.version} on ${state.platform}\nengine: ${state.engine.state}\ncontacts: ${state.contacts.length} (names and codes left out)\nrelay: ${state.network?.relayState ?? "unknown"}\n`,
  export_diagnostics: () => "/home/sam/farhold-diagnostics.txt",

  start_demo: async (world) => {
    await pause(800);
    world.restart("busy");
    world.state = { ...world.state, demo: true };
  },
  stop_demo: (world) => {
    world.restart("empty");
  },
  close_window: () => undefined,
  quit: (world, args) => (args["force"] === true || !world.files ? [] : HOLDERS),
  painted: () => undefined,
};
