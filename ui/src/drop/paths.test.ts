import { describe, expect, it } from "vitest";
import type { DescribedPath, Share } from "../ipc/types";
import { head, nameProblem, sharedAlready, summarise } from "./paths";

function described(name: string, rest: Partial<DescribedPath> = {}): DescribedPath {
  return { path: `/home/me/${name}`, display: `/home/me/${name}`, name, kind: "file", size: 10, problem: null, ...rest };
}

function share(name: string, rest: Partial<Share> = {}): Share {
  return { path: `/home/me/${name}`, display: `/home/me/${name}`, with: "Mia", name, writable: false, state: "ready", entries: 1, ...rest };
}

describe("summary", () => {
  it("tells what can be used from what cannot, each path once", () => {
    const bad = described("bad", { problem: "The name is not text." });
    const pipe = described("pipe", { kind: "other" });
    const summary = summarise([described("a"), described("b", { kind: "folder", size: null }), bad, pipe, described("a")]);
    expect(summary.usable.map((one) => one.name)).toEqual(["a", "b"]);
    expect(summary.problems).toEqual([bad, pipe]);
    expect([summary.files, summary.folders, summary.bytes]).toEqual([1, 1, 10]);
  });

  it("shows the last rather than saying that there is one more", () => {
    expect(head([1, 2, 3], 2)).toEqual({ shown: [1, 2, 3], more: 0 });
    expect(head([1, 2, 3, 4], 2)).toEqual({ shown: [1, 2], more: 2 });
  });
});

describe("shares", () => {
  it("finds what the contact has already", () => {
    const usable = [described("a"), described("b")];
    expect(sharedAlready(usable, [share("a"), share("b", { with: "Ben" })], "Mia").map((one) => one.name)).toEqual(["a"]);
  });

  it("refuses names that cannot be", () => {
    const problem = (name: string): string | null => nameProblem(name, [share("film")], "Mia");
    expect(problem("Film")).toBeNull();
    expect(problem(" ")).toBe("empty");
    expect(problem("a/b")).toBe("slash");
    expect(problem("..")).toBe("dots");
    expect(problem("a\nb")).toBe("control");
    expect(problem("ä".repeat(128))).toBe("long");
    expect(problem("ä".repeat(127))).toBeNull();
    expect(problem("film")).toBe("taken");
    expect(nameProblem("film", [share("film")], "Ben")).toBeNull();
  });
});
