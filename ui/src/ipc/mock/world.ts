// What the mock backend knows, how it begins in each scenario, and how time moves it.
import type { Contact, Events, Latency, Preferences, Settings, State, Transfer } from "../types";
import { busyContacts, lost, step as stepContact } from "./contacts";
import { openFiles } from "./openfiles";
import { code, random, type Random } from "./random";
import { busyTransfers, manyTransfers, step as stepTransfer } from "./transfers";
import { buildTree, type Node } from "./tree";

export const SCENARIOS = ["busy", "empty", "offline", "failed", "firstrun", "many", "loading"] as const;
export type Scenario = (typeof SCENARIOS)[number];

const GB = 1_000_000_000;
const TICK_MS = 200;

const latency = (p50Ms: number, count: number): Latency => ({
  count,
  p50Ms,
  p95Ms: p50Ms * 1.4,
  p99Ms: p50Ms * 1.9,
  maxMs: p50Ms * 2.6,
});

export type Emit = <E extends keyof Events>(event: E, payload: Events[E]) => void;

export class World {
  readonly chance: Random = random(20261130);
  state: State;
  transfers = new Map<number, Transfer>();
  settings: Settings;
  preferences: Preferences;
  root: Node;
  files: ReturnType<typeof openFiles> | null = null;
  private moved = new Set<number>();
  private removed = new Set<number>();

  constructor(
    public scenario: Scenario,
    query: URLSearchParams,
    private readonly emit: Emit,
  ) {
    const theme = query.get("theme");
    this.preferences = {
      theme: theme === "light" || theme === "dark" ? theme : "system",
      language: query.get("language"),
      scale: Number(query.get("scale") ?? 100),
      notifications: { present: true, offered: true, transferDone: true, transferFailed: true, conflict: true, diskLow: true },
      autostart: false,
      closeToTray: true,
      firstRunDone: scenario !== "firstrun",
    };
    this.settings = {
      relay: scenario === "firstrun" ? null : "relay.example.org:7480",
      drive: null,
      mount: true,
      allowOther: false,
      listenPort: 0,
      lan: true,
      relayOnly: false,
      cacheDir: null,
      cacheLimit: 20 * GB,
      limitReceive: null,
      limitSend: null,
    };
    this.state = this.begin();
    this.root = this.plant();
  }

  private begin(): State {
    const { scenario, chance } = this;
    const mine = code(chance);
    const state: State = {
      engine: { state: "running", hosted: true, failure: null },
      version: "0.1.0",
      demo: false,
      trayAvailable: true,
      platform: "linux",
      identity: { code: mine, secrets: "keychain" },
      contacts: [],
      drive: { point: "/home/sam/Farhold", state: "mounted", reason: null },
      cache: { limit: 20 * GB, used: 0, hits: 0, misses: 0, hitRate: null, served: 0, fetched: 0, diskFree: 212 * GB, diskLow: false },
      wire: { received: 0, sent: 0, rateIn: 0, rateOut: 0 },
      seek: null,
      firstByte: null,
      network: { relay: "relay.example.org:7480", relayState: "connected", relayReason: null, listen: 41_641 },
      shares: [],
      pins: [],
      transferCounts: { running: 0, queued: 0, waiting: 0, paused: 0, failed: 0, offered: 0, done: 0, rateIn: 0, rateOut: 0 },
    };
    switch (scenario) {
      case "empty":
      case "loading":
        return state;
      case "firstrun":
        state.network = { relay: null, relayState: "none", relayReason: null, listen: 41_641 };
        state.drive = { point: "/home/sam/Farhold", state: "unmounted", reason: null };
        return state;
      case "failed":
        return {
          ...state,
          engine: {
            state: "failed",
            hosted: true,
            failure: {
              kind: "internal",
              message: "The list of contacts cannot be read: its file is damaged. Put back a copy of it, or move it away to begin anew, then start the engine again.",
            },
          },
          identity: null,
          drive: null,
          cache: null,
          wire: null,
          network: null,
        };
      case "busy":
      case "many":
      case "offline":
        this.fill(state);
    }
    if (scenario === "offline") {
      state.contacts = state.contacts.map(lost);
      state.network = {
        relay: "relay.example.org:7480",
        relayState: "unreachable",
        relayReason: "No answer from relay.example.org:7480 within 5 s. Check the network, or test the relay in Settings.",
        listen: 41_641,
      };
      state.wire = state.wire && { ...state.wire, rateIn: 0, rateOut: 0 };
      for (const one of this.transfers.values()) {
        if (one.state !== "running") continue;
        const reason = `${one.contact} is not connected. It goes on by itself when the connection is back.`;
        this.transfers.set(one.id, { ...one, state: "waiting", rate: 0, remainingSeconds: null, reason });
      }
      this.count(state);
    }
    return state;
  }

  private fill(state: State): void {
    const { chance, scenario } = this;
    state.contacts = busyContacts(chance);
    state.cache = {
      limit: 20 * GB,
      used: 13.4 * GB,
      hits: 48_211,
      misses: 3_642,
      hitRate: 0.93,
      served: 61.2 * GB,
      fetched: 16.8 * GB,
      diskFree: 212 * GB,
      diskLow: false,
    };
    state.wire = { received: 17.4 * GB, sent: 2.1 * GB, rateIn: 0, rateOut: 0 };
    state.seek = { idle: latency(228, 412), loaded: latency(251, 1_208) };
    state.firstByte = latency(219, 3_642);
    state.shares = [
      { path: "/home/sam/Pictures/Stills", display: "~/Pictures/Stills", with: "studio", name: "Stills for print", writable: false, state: "ready", entries: 1_842 },
      { path: "/home/sam/Projects/Lofoten", display: "~/Projects/Lofoten", with: "Anna Lindqvist", name: "Lofoten", writable: true, state: "scanning", entries: 12_408 },
      { path: "/home/sam/Documents/Contract.pdf", display: "~/Documents/Contract.pdf", with: "Anna Lindqvist", name: "Contract.pdf", writable: false, state: "ready", entries: 1 },
      { path: "/media/sam/Archive", display: "/media/sam/Archive", with: "Ben Okafor", name: "Archive", writable: false, state: "unavailable", entries: 0 },
    ];
    state.pins = [
      { path: "Anna%20Lindqvist/Photos%20%E2%80%93%20Lofoten", display: "Anna Lindqvist/Photos – Lofoten", state: "fetching", files: 240, bytes: 5.1 * GB, cached: 2.2 * GB, reason: null },
      { path: "Anna%20Lindqvist/Soundtrack.flac", display: "Anna Lindqvist/Soundtrack.flac", state: "whole", files: 1, bytes: 412_000_000, cached: 412_000_000, reason: null },
      { path: "Dmitri/Plans", display: "Dmitri/Plans", state: "waiting", files: 31, bytes: 880_000_000, cached: 120_000_000, reason: "Dmitri is not connected." },
    ];
    const list = scenario === "many" ? manyTransfers(10_000, chance) : busyTransfers();
    this.transfers = new Map(list.map((one) => [one.id, one]));
    this.files = openFiles(chance);
    this.count(state);
  }

  /** Begins anew as another scenario, the way a started engine does. */
  restart(scenario: Scenario): void {
    this.scenario = scenario;
    const before = [...this.transfers.keys()];
    this.transfers = new Map();
    this.files = null;
    this.state = this.begin();
    this.root = this.plant();
    for (const id of before) if (!this.transfers.has(id)) this.removed.add(id);
    for (const id of this.transfers.keys()) this.moved.add(id);
    this.tell();
  }

  plant(): Node {
    const names = this.state.contacts.filter((one) => one.pairing !== "pending").map((one) => one.name);
    return buildTree(random(7), names, this.scenario === "many", this.scenario === "offline");
  }

  start(): void {
    setInterval(() => this.tick(TICK_MS / 1000), TICK_MS);
  }

  private tick(seconds: number): void {
    if (this.state.engine.state !== "running") return;
    const { chance } = this;
    for (const one of this.transfers.values()) {
      const next = stepTransfer(one, chance, seconds);
      if (next !== one) this.put(next);
    }
    const loads = (name: string) =>
      [...this.transfers.values()].filter((one) => one.contact === name).reduce((sum, one) => sum + one.rate, 0);
    const contacts = this.state.contacts.map((one) => stepContact(one, chance, seconds, loads(one.name)));
    const lanes = contacts.flatMap((one) => one.session.lanes);
    const rateIn = lanes.reduce((sum, lane) => sum + lane.rateIn, 0);
    const rateOut = lanes.reduce((sum, lane) => sum + lane.rateOut, 0);
    const { wire, cache, seek, firstByte } = this.state;
    const wander = (one: Latency, base: number): Latency => ({ ...latency(base * chance.between(0.94, 1.12), one.count + 1) });
    const moves = rateIn > 0;
    this.state = {
      ...this.state,
      contacts,
      wire: wire && { received: wire.received + rateIn * seconds, sent: wire.sent + rateOut * seconds, rateIn, rateOut },
      cache: cache && moves
        ? {
            ...cache,
            hits: cache.hits + chance.whole(10, 40),
            misses: cache.misses + chance.whole(0, 3),
            hitRate: (cache.hits + 40) / (cache.hits + cache.misses + 40),
            served: cache.served + 40_000_000 * seconds,
            fetched: cache.fetched + 9_000_000 * seconds,
            used: Math.min(cache.limit, cache.used + 4_000_000 * seconds),
          }
        : cache,
      seek: seek && moves ? { idle: wander(seek.idle, 228), loaded: wander(seek.loaded, 251) } : seek,
      firstByte: firstByte && moves ? wander(firstByte, 219) : firstByte,
      pins: this.state.pins.map((pin) => {
        if (pin.state !== "fetching") return pin;
        const cached = Math.min(pin.bytes, pin.cached + 6_000_000 * seconds);
        return { ...pin, cached, state: cached === pin.bytes ? "whole" : "fetching" };
      }),
    };
    this.files?.step();
    this.tell();
  }

  put(one: Transfer): void {
    this.transfers.set(one.id, one);
    this.moved.add(one.id);
  }

  forget(id: number): void {
    this.transfers.delete(id);
    this.moved.delete(id);
    this.removed.add(id);
  }

  edit(name: string, change: (contact: Contact) => Contact): void {
    this.state = { ...this.state, contacts: this.state.contacts.map((one) => (one.name === name ? change(one) : one)) };
  }

  private count(state: State): void {
    const counts = { running: 0, queued: 0, waiting: 0, paused: 0, failed: 0, offered: 0, done: 0, rateIn: 0, rateOut: 0 };
    for (const one of this.transfers.values()) {
      if (one.state !== "cancelled") counts[one.state] += 1;
      if (one.direction === "pull" || one.direction === "receive") counts.rateIn += one.rate;
      else counts.rateOut += one.rate;
    }
    state.transferCounts = counts;
  }

  /** Tells the page what changed. */
  tell(): void {
    const state = { ...this.state };
    this.count(state);
    this.state = state;
    this.emit("state", state);
    if (this.moved.size === 0 && this.removed.size === 0) return;
    const changed = [...this.moved].flatMap((id) => this.transfers.get(id) ?? []);
    const removed = [...this.removed];
    this.moved.clear();
    this.removed.clear();
    this.emit("transfers", { changed, removed });
  }
}
