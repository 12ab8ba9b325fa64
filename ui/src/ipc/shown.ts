// Text that others chose, made fit to be shown: a contact's file may be called whatever its disk takes. What would be read
// as something else than it is becomes U+FFFD, as bytes that are no text do. Paths are percent-encoded and stay as they are.
import type { Crumb, DescribedPath, Entry, Holder, OpenFile, State, Transfer } from "./types";

/** Controls, line ends, and what sets the direction of text: with a U+202E before "gpj.exe", "exe.jpg" is read. */
const DECEIVING = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
/** The same, but for line ends. */
const IN_LINES = /[^\P{Cc}\n]|[\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** A name or a path. */
export const oneLine = (text: string): string => text.replace(DECEIVING, "\uFFFD");

/** What is told in words, with names in it. */
export function words(text: string): string;
export function words(text: string | null): string | null;
export function words(text: string | null): string | null {
  return text === null ? null : text.replace(IN_LINES, "\uFFFD");
}

export const entry = (one: Entry): Entry => ({ ...one, name: oneLine(one.name), unavailable: words(one.unavailable) });
export const crumb = (one: Crumb): Crumb => ({ ...one, name: oneLine(one.name) });
export const openFile = (one: OpenFile): OpenFile => ({ ...one, display: oneLine(one.display) });
export const holder = (one: Holder): Holder => ({ ...one, program: oneLine(one.program), file: oneLine(one.file) });
export const described = (one: DescribedPath): DescribedPath => ({ ...one, display: oneLine(one.display), name: oneLine(one.name) });

export const transfer = (one: Transfer): Transfer => ({
  ...one,
  name: oneLine(one.name),
  reason: words(one.reason),
  destinationDisplay: one.destinationDisplay === null ? null : oneLine(one.destinationDisplay),
});

export const state = (one: State): State => ({
  ...one,
  shares: one.shares.map((share) => ({ ...share, display: oneLine(share.display), name: oneLine(share.name) })),
  pins: one.pins.map((pin) => ({ ...pin, display: oneLine(pin.display), reason: words(pin.reason) })),
});
