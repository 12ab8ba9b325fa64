// The list of shares: its order, its filter and its words.
import { language } from "../../i18n";
import type { Share } from "../../ipc/types";
import { fileType, type FileType } from "../drive/filetype";
import { fold, naturalKey } from "../drive/order";

/** By name, then by contact. */
export function sorted(shares: readonly Share[]): Share[] {
  const keyed = shares.map((share) => ({ share, key: `${naturalKey(fold(share.name))}\0${fold(share.with)}` }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return keyed.map(({ share }) => share);
}

/** The shares whose name, place or contact holds every word of `text`. */
export function filtered(shares: readonly Share[], text: string): readonly Share[] {
  const words = fold(text).split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return shares;
  return shares.filter((share) => {
    const all = fold(`${share.name}\n${share.display}\n${share.with}`);
    return words.every((word) => all.includes(word));
  });
}

/** A share of one entry with an ending that is known is a file; what else it is is not told. */
export function typeOf(share: Share): FileType {
  const type = share.entries > 1 ? "folder" : fileType({ kind: "file", name: share.name });
  return type === "file" ? "folder" : type;
}

/** A share is what one contact sees of a path. */
export function keyOf(share: Share): string {
  return `${share.path}\0${share.with}`;
}

/** The contacts of some shares as a list in words. */
export function contactsOf(shares: readonly Share[]): string {
  const names = [...new Set(shares.map((share) => share.with))];
  return new Intl.ListFormat(language.current).format(names);
}
