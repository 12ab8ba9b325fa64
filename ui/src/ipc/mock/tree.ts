// The drive of the scenarios: a tree that is listed, pinned and dropped.
import type { Entry, Path } from "../types";
import { encode } from "./paths";
import type { Random } from "./random";

export type Node = Omit<Entry, "path"> & { children?: () => Node[] };

/** A moment that does not move, so that pictures are the same every day. */
const BASE = Date.UTC(2026, 10, 28, 16, 20);
const DAY = 86_400_000;

type Made = Partial<Node> & { name: string };

export function buildTree(chance: Random, contacts: readonly string[], many: boolean, offline: boolean): Node {
  const folder = (made: Made, children: () => Node[]): Node => {
    let kept: Node[] | null = null;
    return {
      kind: "folder",
      size: 0,
      modifiedMs: BASE - chance.whole(0, 90) * DAY,
      writable: false,
      home: "theirs",
      pinned: false,
      cached: null,
      unavailable: null,
      ...made,
      children: () => (kept ??= children()),
    };
  };
  const file = (name: string, size: number, made: Partial<Node> = {}): Node => {
    const cached = made.home === "mine" ? null : (made.cached ?? chance.pick(["none", "none", "part", "whole"]));
    return {
      name,
      kind: "file",
      size,
      modifiedMs: BASE - chance.whole(0, 400) * DAY - chance.whole(0, DAY),
      writable: false,
      home: "theirs",
      pinned: false,
      unavailable: offline && cached !== "whole" ? "Its home is not connected, and it is not in the cache." : null,
      ...made,
      cached,
    };
  };

  const footage = () =>
    Array.from({ length: 28 }, (_, index) =>
      file(`A001_C${String(index + 1).padStart(3, "0")}_1128.mov`, chance.whole(900, 4_800) * 1_000_000),
    );
  const photos = () =>
    Array.from({ length: 240 }, (_, index) => file(`DSC_${4100 + index}.${index % 2 ? "JPG" : "NEF"}`, chance.whole(4, 38) * 1_000_000));
  const archive = () =>
    Array.from({ length: 100_000 }, (_, index) =>
      file(`scan-${String(index).padStart(6, "0")}.tif`, 200_000 + ((index * 7919) % 9_000_000), { cached: "none" }),
    );

  const shared = (): Node[] => {
    const top = [
      folder({ name: "Footage 2026-11" }, footage),
      folder({ name: "Photos – Lofoten", pinned: true }, photos),
      folder({ name: "Scripts", writable: true }, () => [
        file("Treatment v7.docx", 184_320, { writable: true, cached: "whole" }),
        file("Shot list.xlsx", 92_160, { writable: true }),
        file("Notes.md", 4_210, { writable: true, cached: "whole" }),
      ]),
      folder({ name: "For you", home: "mine", writable: true, cached: null }, () => [
        file("Invoice 2026-118.pdf", 312_400, { home: "mine", writable: true }),
        file("Logo.svg", 18_220, { home: "mine", writable: true }),
      ]),
      folder({ name: "Old drive", unavailable: "The disk that it is on is not connected there." }, () => []),
      file("Interview, final cut.mp4", 4_294_967_296, { cached: "part" }),
      file("Soundtrack.flac", 412_000_000, { cached: "whole", pinned: true }),
      file("Read me first.txt", 1_830, { cached: "whole" }),
      file("current", 0, { kind: "symlink" }),
    ];
    return many ? [folder({ name: "Archive" }, archive), ...top] : top;
  };
  return folder({ name: "" }, () => contacts.map((name) => folder({ name }, shared)));
}

/** The node at a path, as names from the top. */
export function find(root: Node, names: readonly string[]): Node | null {
  let node: Node | null = root;
  for (const name of names) node = node?.children?.().find((child) => child.name === name) ?? null;
  return node;
}

export function entries(node: Node, parent: Path): Entry[] {
  return (node.children?.() ?? []).map(({ children: _, ...entry }) => ({
    ...entry,
    path: parent === "" ? encode(entry.name) : `${parent}/${encode(entry.name)}`,
  }));
}

/** Changes a node and what is below it; what was never listed is left. */
export function change(node: Node, to: (node: Node) => void): void {
  to(node);
  if (node.kind === "folder") for (const child of node.children?.() ?? []) change(child, to);
}
