// What was dropped, pasted or picked: what of it can be shared or sent, and what cannot and why.
import type { DescribedPath, Path, Share } from "../ipc/types";

export interface Summary {
  readonly usable: readonly DescribedPath[];
  readonly problems: readonly DescribedPath[];
  readonly files: number;
  readonly folders: number;
  /** Of the files alone: what is in folders is not known before they are scanned. */
  readonly bytes: number;
}

/** Paths are given once each, in the order in which they came. */
export function summarise(described: readonly DescribedPath[]): Summary {
  const usable: DescribedPath[] = [];
  const problems: DescribedPath[] = [];
  const seen = new Set<Path>();
  let files = 0;
  let folders = 0;
  let bytes = 0;
  for (const one of described) {
    if (seen.has(one.path)) continue;
    seen.add(one.path);
    if (one.problem !== null || one.kind === "other") {
      problems.push(one);
      continue;
    }
    usable.push(one);
    if (one.kind === "folder") folders += 1;
    else files += 1;
    bytes += one.size ?? 0;
  }
  return { usable, problems, files, folders, bytes };
}

/** The first of a list, and how many more there are. One more is shown rather than counted. */
export function head<T>(list: readonly T[], most: number): { shown: readonly T[]; more: number } {
  if (list.length <= most + 1) return { shown: list, more: 0 };
  return { shown: list.slice(0, most), more: list.length - most };
}

/** Of `usable`, what the contact has as a share already. */
export function sharedAlready(usable: readonly DescribedPath[], shares: readonly Share[], contact: string): readonly DescribedPath[] {
  const paths = new Set(shares.filter((share) => share.with === contact).map((share) => share.path));
  return usable.filter((one) => paths.has(one.path));
}

export type NameProblem = "empty" | "slash" | "dots" | "control" | "long" | "taken";

/** What speaks against `name` as the name of a share in the contact's folder. */
export function nameProblem(name: string, shares: readonly Share[], contact: string): NameProblem | null {
  if (name.trim() === "") return "empty";
  if (name.includes("/")) return "slash";
  if (name === "." || name === "..") return "dots";
  if (/\p{Cc}/u.test(name)) return "control";
  if (new TextEncoder().encode(name).length > 255) return "long";
  if (shares.some((share) => share.with === contact && share.name === name)) return "taken";
  return null;
}
