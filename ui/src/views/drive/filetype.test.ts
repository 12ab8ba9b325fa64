import { expect, it } from "vitest";
import type { Entry } from "../../ipc/types";
import { fileType } from "./filetype";

function type(name: string, kind: Entry["kind"] = "file", atTop = false): string {
  const entry: Entry = {
    path: "mia/x",
    name,
    kind,
    size: 0,
    modifiedMs: 0,
    writable: false,
    home: "theirs",
    pinned: false,
    cached: "none",
    unavailable: null,
  };
  return fileType(entry, atTop);
}

it("goes by kind, then by the last ending in any case", () => {
  expect(type("film.mkv", "folder")).toBe("folder");
  expect(type("Mia", "folder", true)).toBe("contact");
  expect(type("film.mkv", "symlink")).toBe("link");
  expect(type("Film.MKV")).toBe("video");
  expect(type("backup.tar.gz")).toBe("archive");
  expect(type("notes")).toBe("file");
  expect(type(".zip")).toBe("file");
  expect(type("what.constructor")).toBe("file");
});
