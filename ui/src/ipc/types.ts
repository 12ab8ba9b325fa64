// What the shell and the page tell each other. Made of src-tauri/src/dto by its tests; do not edit. To make it anew:
// FARHOLD_WRITE_TYPES=1 cargo test -p farhold-app the_page_knows

/**
 * The block cache, in bytes; `hits` and `misses` in blocks.
 */
export type Cache = { limit: number, used: number, hits: number, misses: number, hitRate: number | null, served: number, fetched: number, diskFree: number | null, diskLow: boolean, };

/**
 * How much of a file is in the cache.
 */
export type Cached = "none" | "part" | "whole";

/**
 * One thing that was looked at.
 */
export type Check = { name: string, state: CheckState, message: string, fix: string | null, };

/**
 * How a check of this machine ended.
 */
export type CheckState = "ok" | "warning" | "failed";

/**
 * A contact.
 */
export type Contact = { name: string, code: string, pairing: Pairing, present: boolean | null, wanted: boolean, words: string | null, accept: ShownPath | null, session: Session, };

/**
 * A folder on the way to the one shown.
 */
export type Crumb = { path: Path, name: string, };

/**
 * Something on this machine that was dropped, pasted or picked.
 */
export type DescribedPath = { path: Path, display: string, name: string, kind: PathKindOnDisk, size: number | null, problem: string | null, };

/**
 * Which way, and who asked for it.
 */
export type Direction = "pull" | "push" | "receive" | "serve";

/**
 * Whether something is dragged over the window, and how many files.
 */
export type Dragging = { over: boolean, count: number, };

/**
 * The drive.
 */
export type Drive = { point: string, state: DriveState, reason: string | null, };

/**
 * Whether the drive is there.
 */
export type DriveState = "mounted" | "failed" | "unmounted";

/**
 * The engine that the window shows.
 */
export type EngineInfo = { state: EngineState, 
/**
 * Whether it runs in this process.
 */
hosted: boolean, failure: Failure | null, };

/**
 * Whether the engine runs.
 */
export type EngineState = "starting" | "running" | "failed" | "stopping";

/**
 * One line of a folder.
 */
export type Entry = { path: Path, name: string, kind: EntryKind, size: number, modifiedMs: number, writable: boolean, home: HomeSide, pinned: boolean, cached: Cached | null, unavailable: string | null, };

/**
 * What something in the drive is.
 */
export type EntryKind = "folder" | "file" | "symlink";

/**
 * Events of the shell, by name.
 */
export type Events = { state: State, transfers: TransferChanges, dragging: Dragging, dropped: Paths, link: Link, opened: Paths, "ask-close": Nothing, "quit-held": Held, "show-view": ShowView, };

/**
 * `message` is a full sentence: what happened and what to do.
 */
export type Failure = { kind: FailureKind, message: string, };

/**
 * The kind of a failure.
 */
export type FailureKind = "notRunning" | "notFound" | "notConnected" | "timeout" | "refused" | "conflict" | "usage" | "internal";

/**
 * Bytes; `rate` in bytes per second.
 */
export type Governor = { window: number, outstanding: number, queued: number, rate: number, minRttMs: number | null, };

/**
 * Who keeps the drive from being unmounted.
 */
export type Held = { holders: Array<Holder>, };

/**
 * A program that has something of the drive open.
 */
export type Holder = { pid: number, program: string, file: string, };

/**
 * Whose disk holds something.
 */
export type HomeSide = "mine" | "theirs";

/**
 * Who this is.
 */
export type Identity = { code: string, secrets: "file" | "keychain", };

/**
 * A lane of a session.
 */
export type Lane = { id: number | null, class: LaneClass, transport: string, path: string, bytesIn: number, bytesOut: number, rateIn: number, rateOut: number, missing: string | null, };

/**
 * What a lane carries.
 */
export type LaneClass = "control" | "urgent" | "bulk";

/**
 * The latest latencies of one kind.
 */
export type Latency = { count: number, p50Ms: number, p95Ms: number, p99Ms: number, maxMs: number, };

/**
 * `text` is the code to pair with, or the whole link if it is not known.
 */
export type Link = { kind: LinkKind, text: string, };

/**
 * What a link asks for.
 */
export type LinkKind = "pair" | "unknown";

/**
 * What is known of a folder once all its entries were told.
 */
export type Listing = { crumbs: Array<Crumb>, entries: number, contact: string | null, };

/**
 * Where this engine can be reached.
 */
export type Network = { relay: string | null, relayState: RelayState, relayReason: string | null, listen: number | null, };

/**
 * An event that says all by its name.
 */
export type Nothing = Record<string, never>;

/**
 * What is worth a notification.
 */
export type NotificationSwitches = { present: boolean, offered: boolean, transferDone: boolean, transferFailed: boolean, conflict: boolean, diskLow: boolean, };

/**
 * `playheads` are offsets in bytes.
 */
export type OpenFile = { path: Path, display: string, size: number, blockSize: number, opens: number, runs: Array<Run>, playheads: Array<number>, hitRate: number | null, };

/**
 * How far the pairing is.
 */
export type Pairing = "pending" | "provisional" | "paired";

/**
 * Opaque: a path's bytes, percent-encoded. The page hands back what it got and never builds one from text.
 */
export type Path = string;

/**
 * How two machines reach each other.
 */
export type PathKind = "lan" | "direct" | "punched" | "relayed";

/**
 * What something on this machine is.
 */
export type PathKindOnDisk = "file" | "folder" | "other";

/**
 * Files and folders of this machine.
 */
export type Paths = { paths: Array<Path>, };

/**
 * Something kept whole in the cache.
 */
export type Pin = { path: Path, display: string, state: PinState, files: number, bytes: number, cached: number, reason: string | null, };

/**
 * How something pinned stands.
 */
export type PinState = "fetching" | "whole" | "waiting" | "noRoom" | "gone";

/**
 * The system.
 */
export type Platform = "linux" | "macos" | "windows";

/**
 * `language` null is the system's; `scale` is percent, 100 to 200.
 */
export type Preferences = { theme: Theme, language: string | null, scale: number, notifications: NotificationSwitches, autostart: boolean, closeToTray: boolean, firstRunDone: boolean, };

/**
 * Whether the relay is reached.
 */
export type RelayState = "none" | "connecting" | "connected" | "unreachable";

/**
 * How long a relay took to answer.
 */
export type RelayTest = { roundTripMs: number, };

/**
 * In blocks, sorted; what is missing is absent.
 */
export type Run = { start: number, blocks: number, state: RunState, };

/**
 * Where blocks are.
 */
export type RunState = "cached" | "demand" | "ahead";

/**
 * Latency of jumps, with and without other traffic.
 */
export type Seek = { idle: Latency, loaded: Latency, };

/**
 * The connection with a contact.
 */
export type Session = { state: SessionState, path: PathKind | null, transport: Transport | null, rttMs: number | null, epoch: number | null, reason: string | null, lanes: Array<Lane>, ways: Array<Way>, governor: Governor | null, };

/**
 * Whether there is a connection.
 */
export type SessionState = "offline" | "connecting" | "connected" | "interrupted";

/**
 * Limits are bytes per second.
 */
export type Settings = { relay: string | null, drive: string | null, mount: boolean, allowOther: boolean, listenPort: number, lan: boolean, relayOnly: boolean, cacheDir: string | null, cacheLimit: number, limitReceive: number | null, limitSend: number | null, };

/**
 * `restartNeeded`: what was stored and applies when the engine starts again.
 */
export type SettingsReply = { settings: Settings, restartNeeded: (keyof Settings)[], };

/**
 * Something shared from here.
 */
export type Share = { path: Path, display: string, with: string, name: string, writable: boolean, state: ShareState, entries: number, };

/**
 * Whether a share can be reached.
 */
export type ShareState = "scanning" | "ready" | "unavailable";

/**
 * The view that a notification or the tray leads to.
 */
export type ShowView = { view: string, };

/**
 * A path, and how it is shown.
 */
export type ShownPath = { path: Path, display: string, };

/**
 * What the page shows.
 */
export type State = { engine: EngineInfo, version: string, demo: boolean, trayAvailable: boolean, platform: Platform, identity: Identity | null, contacts: Array<Contact>, drive: Drive | null, cache: Cache | null, wire: Wire | null, seek: Seek | null, firstByte: Latency | null, network: Network | null, shares: Array<Share>, pins: Array<Pin>, transferCounts: TransferCounts, };

/**
 * Colours of the window.
 */
export type Theme = "system" | "light" | "dark";

/**
 * A transfer.
 */
export type Transfer = { id: number, direction: Direction, contact: string, name: string, state: TransferState, reason: string | null, filesDone: number, files: number, bytesDone: number, bytes: number, rate: number, remainingSeconds: number | null, destination: Path | null, destinationDisplay: string | null, };

/**
 * What has changed of the transfers.
 */
export type TransferChanges = { changed: Array<Transfer>, removed: Array<number>, };

/**
 * How many transfers are in which state, and the sum of their rates.
 */
export type TransferCounts = { running: number, queued: number, waiting: number, paused: number, failed: number, offered: number, done: number, rateIn: number, rateOut: number, };

/**
 * How it stands.
 */
export type TransferState = "offered" | "queued" | "running" | "waiting" | "paused" | "done" | "failed" | "cancelled";

/**
 * What carries a connection.
 */
export type Transport = "quic" | "tcp";

/**
 * A better way that was tried and does not stand.
 */
export type Way = { path: string, transport: string, reason: string, };

/**
 * Bytes on the network.
 */
export type Wire = { received: number, sent: number, rateIn: number, rateOut: number, };
