// What a block map shows, in words.
import { amounts } from "../../charts/blockmap";
import { t } from "../../i18n";
import { bytes, percent } from "../../i18n/format";
import type { OpenFile } from "../../ipc";

/** More would not be listened to. */
const PLACES = 5;

/** How much of a file is here, from 0 to 1; an empty one is whole. */
export function cachedShare(file: OpenFile): number {
  return file.size === 0 ? 1 : amounts(file).cached / file.size;
}

/** For screen readers: what is where, and where the file is read. */
export function describe(file: OpenFile): string {
  const of = amounts(file);
  const text = t("cache.open.summary", {
    name: file.display,
    size: bytes(file.size),
    cached: bytes(of.cached),
    demand: bytes(of.demand),
    ahead: bytes(of.ahead),
    missing: bytes(of.missing),
  });
  if (file.playheads.length === 0 || file.size === 0) {
    return text;
  }
  const places = file.playheads.slice(0, PLACES).map((byte) => percent(byte / file.size));
  return `${text} ${t("cache.open.playheads", { places: places.join(", ") })}`;
}
