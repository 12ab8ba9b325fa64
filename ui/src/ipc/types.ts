// What the shell and the page tell each other.

export type FailureKind =
  | "notRunning"
  | "notFound"
  | "notConnected"
  | "timeout"
  | "refused"
  | "conflict"
  | "usage"
  | "internal";

/** `message` is a full sentence: what happened and what to do. */
export type Failure = { kind: FailureKind; message: string };

/** Opaque: a path's bytes, percent-encoded. The page hands back what it got and never builds one from text. */
export type Path = string;

export type State = {
  engine: {
    state: "starting" | "running" | "failed" | "stopping";
    hosted: boolean;
    failure: Failure | null;
  };
  version: string;
  demo: boolean;
  trayAvailable: boolean;
  platform: "linux" | "macos" | "windows";
  identity: { code: string; secrets: "file" | "keychain" } | null;
  contacts: Contact[];
  drive: Drive | null;
  cache: Cache | null;
  wire: Wire | null;
  seek: { idle: Latency; loaded: Latency } | null;
  firstByte: Latency | null;
  network: Network | null;
  shares: Share[];
  pins: Pin[];
  transferCounts: TransferCounts;
};

export type TransferCounts = {
  running: number;
  queued: number;
  waiting: number;
  paused: number;
  failed: number;
  offered: number;
  done: number;
  rateIn: number;
  rateOut: number;
};

export type Contact = {
  name: string;
  code: string;
  pairing: "pending" | "provisional" | "paired";
  present: boolean | null;
  wanted: boolean;
  words: string | null;
  accept: { path: Path; display: string } | null;
  session: Session;
};

export type PathKind = "lan" | "direct" | "punched" | "relayed";

export type Session = {
  state: "offline" | "connecting" | "connected" | "interrupted";
  path: PathKind | null;
  transport: "quic" | "tcp" | null;
  rttMs: number | null;
  epoch: number | null;
  reason: string | null;
  lanes: Lane[];
  ways: Way[];
  governor: Governor | null;
};

export type Way = { path: string; transport: string; reason: string };

/** Bytes; `rate` in bytes per second. */
export type Governor = {
  window: number;
  outstanding: number;
  queued: number;
  rate: number;
  minRttMs: number | null;
};

export type Lane = {
  id: number | null;
  class: "control" | "urgent" | "bulk";
  transport: string;
  path: string;
  bytesIn: number;
  bytesOut: number;
  rateIn: number;
  rateOut: number;
  missing: string | null;
};

export type Drive = { point: string; state: "mounted" | "failed" | "unmounted"; reason: string | null };

export type Cache = {
  limit: number;
  used: number;
  hits: number;
  misses: number;
  hitRate: number | null;
  served: number;
  fetched: number;
  diskFree: number | null;
  diskLow: boolean;
};

export type Wire = { received: number; sent: number; rateIn: number; rateOut: number };

export type Latency = { count: number; p50Ms: number; p95Ms: number; p99Ms: number; maxMs: number };

export type Network = {
  relay: string | null;
  relayState: "none" | "connecting" | "connected" | "unreachable";
  relayReason: string | null;
  listen: number | null;
};

export type Share = {
  path: Path;
  display: string;
  with: string;
  name: string;
  writable: boolean;
  state: "scanning" | "ready" | "unavailable";
  entries: number;
};

export type Pin = {
  path: Path;
  display: string;
  state: "fetching" | "whole" | "waiting" | "noRoom" | "gone";
  files: number;
  bytes: number;
  cached: number;
  reason: string | null;
};

export type Transfer = {
  id: number;
  direction: "pull" | "push" | "receive" | "serve";
  contact: string;
  name: string;
  state: "offered" | "queued" | "running" | "waiting" | "paused" | "done" | "failed" | "cancelled";
  reason: string | null;
  filesDone: number;
  files: number;
  bytesDone: number;
  bytes: number;
  rate: number;
  remainingSeconds: number | null;
  destination: Path | null;
  destinationDisplay: string | null;
};

export type TransferChanges = { changed: Transfer[]; removed: number[] };

export type Entry = {
  path: Path;
  name: string;
  kind: "folder" | "file" | "symlink";
  size: number;
  modifiedMs: number;
  writable: boolean;
  home: "mine" | "theirs";
  pinned: boolean;
  cached: "none" | "part" | "whole" | null;
  unavailable: string | null;
};

export type Crumb = { path: Path; name: string };

export type Listing = { crumbs: Crumb[]; entries: number; contact: string | null };

/** `playheads` are offsets in bytes. */
export type OpenFile = {
  path: Path;
  display: string;
  size: number;
  blockSize: number;
  opens: number;
  runs: Run[];
  playheads: number[];
  hitRate: number | null;
};

/** In blocks, sorted; what is missing is absent. */
export type Run = { start: number; blocks: number; state: "cached" | "demand" | "ahead" };

/** Limits are bytes per second. */
export type Settings = {
  relay: string | null;
  drive: string | null;
  mount: boolean;
  allowOther: boolean;
  listenPort: number;
  lan: boolean;
  relayOnly: boolean;
  cacheDir: string | null;
  cacheLimit: number;
  limitReceive: number | null;
  limitSend: number | null;
};

/** `restartNeeded`: what was stored and applies when the engine starts again. */
export type SettingsReply = { settings: Settings; restartNeeded: (keyof Settings)[] };

/** `language` null is the system's; `scale` is percent, 100 to 200. */
export type Preferences = {
  theme: "system" | "light" | "dark";
  language: string | null;
  scale: number;
  notifications: {
    present: boolean;
    offered: boolean;
    transferDone: boolean;
    transferFailed: boolean;
    conflict: boolean;
    diskLow: boolean;
  };
  autostart: boolean;
  closeToTray: boolean;
  firstRunDone: boolean;
};

export type Check = { name: string; state: "ok" | "warning" | "failed"; message: string; fix: string | null };

export type Holder = { pid: number; program: string; file: string };

export type DescribedPath = {
  path: Path;
  display: string;
  name: string;
  kind: "file" | "folder" | "other";
  size: number | null;
  problem: string | null;
};

export type RelayTest = { roundTripMs: number };

export type Link = { kind: "pair" | "unknown"; text: string };

/** Events of the shell, by name. */
export type Events = {
  state: State;
  transfers: TransferChanges;
  dragging: { over: boolean; count: number };
  dropped: { paths: Path[] };
  link: Link;
  opened: { paths: Path[] };
  "ask-close": Record<string, never>;
  "quit-held": { holders: Holder[] };
  "show-view": { view: string };
};
