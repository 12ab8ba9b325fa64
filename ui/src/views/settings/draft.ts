// Settings while they are edited: text as typed, checked, and compared with what is stored.
import type { Settings } from "../../ipc/types";
import { exactRate, exactSize, parseRate, parseSize } from "./amounts";

/** Least room for the cache in bytes, as the engine demands. */
export const LEAST_CACHE = 64_000_000;

/** Text as typed; empty stands for the default. */
export interface Draft {
  relay: string;
  drive: string;
  mount: boolean;
  allowOther: boolean;
  listenPort: string;
  lan: boolean;
  relayOnly: boolean;
  cacheDir: string;
  cacheLimit: string;
  limitReceive: string;
  limitSend: string;
}

export type Field = keyof Draft;

/** What is wrong with a field. */
export type Problem = "relay" | "path" | "port" | "size" | "small" | "rate" | "zero";

export type Problems = Partial<Record<Field, Problem>>;

type Read<T> = { value: T } | { problem: Problem };

/** What is stored, as text with the language's decimal sign. */
export function draftOf(settings: Settings, decimal: string): Draft {
  const rate = (limit: number | null): string => (limit === null ? "" : exactRate(limit, decimal));
  return {
    relay: settings.relay ?? "",
    drive: settings.drive ?? "",
    mount: settings.mount,
    allowOther: settings.allowOther,
    listenPort: settings.listenPort === 0 ? "" : String(settings.listenPort),
    lan: settings.lan,
    relayOnly: settings.relayOnly,
    cacheDir: settings.cacheDir ?? "",
    cacheLimit: exactSize(settings.cacheLimit, decimal),
    limitReceive: rate(settings.limitReceive),
    limitSend: rate(settings.limitSend),
  };
}

/** What a draft says, and what is wrong with it; a field with a problem keeps what is stored. */
export function check(draft: Draft, stored: Settings): { settings: Settings; problems: Problems } {
  const problems: Problems = {};
  const take = <T>(field: Field, read: Read<T>, kept: T): T => {
    if ("value" in read) {
      return read.value;
    }
    problems[field] = read.problem;
    return kept;
  };
  const settings: Settings = {
    relay: take("relay", readRelay(draft.relay), stored.relay),
    drive: take("drive", readPath(draft.drive), stored.drive),
    mount: draft.mount,
    allowOther: draft.allowOther,
    listenPort: take("listenPort", readPort(draft.listenPort), stored.listenPort),
    lan: draft.lan,
    relayOnly: draft.relayOnly,
    cacheDir: take("cacheDir", readPath(draft.cacheDir), stored.cacheDir),
    cacheLimit: take("cacheLimit", readCacheLimit(draft.cacheLimit), stored.cacheLimit),
    limitReceive: take("limitReceive", readLimit(draft.limitReceive), stored.limitReceive),
    limitSend: take("limitSend", readLimit(draft.limitSend), stored.limitSend),
  };
  return { settings, problems };
}

/** The fields that say something else than what is stored, or nothing that can be read. */
export function changes(draft: Draft, stored: Settings): Field[] {
  const { settings, problems } = check(draft, stored);
  const fields = Object.keys(draft) as Field[];
  return fields.filter((field) => field in problems || settings[field] !== stored[field]);
}

/** `HOST`, `HOST:PORT`, `[V6]` or `[V6]:PORT`; nothing is no relay. */
export function readRelay(text: string): Read<string | null> {
  const address = text.trim();
  if (address === "") {
    return { value: null };
  }
  const [, host, port] = /^(\[[0-9a-f:.]+\]|[^\s:/@?#[\]]+)(?::(\d+))?$/i.exec(address) ?? [];
  // The relay's bridge listens on the port after.
  const good = host !== undefined && (port === undefined || Number(port) < 65_535);
  return good ? { value: address } : { problem: "relay" };
}

/** An absolute path or, on Windows, a drive's letter; nothing is the default. */
function readPath(text: string): Read<string | null> {
  const path = text.trim();
  if (path === "") {
    return { value: null };
  }
  return /^(\/|[a-z]:)/i.test(path) ? { value: path } : { problem: "path" };
}

/** Nothing is any free port. */
function readPort(text: string): Read<number> {
  const port = text.trim();
  if (port === "") {
    return { value: 0 };
  }
  return /^\d+$/.test(port) && Number(port) <= 65_535 ? { value: Number(port) } : { problem: "port" };
}

/** Room for the cache. */
export function readCacheLimit(text: string): Read<number> {
  const size = parseSize(text);
  if (size === null) {
    return { problem: "size" };
  }
  return size < LEAST_CACHE ? { problem: "small" } : { value: size };
}

/** Nothing is no limit; a limit of nothing would only look like a broken connection. */
function readLimit(text: string): Read<number | null> {
  if (text.trim() === "") {
    return { value: null };
  }
  const rate = parseRate(text);
  if (rate === null) {
    return { problem: "rate" };
  }
  return rate === 0 ? { problem: "zero" } : { value: rate };
}
