import { expect, it } from "vitest";
import { fileType } from "./filetype";

it("goes by kind, then by the last ending in any case", () => {
  const type = (name: string): string => fileType({ kind: "file", name });
  expect(fileType({ kind: "folder", name: "film.mkv" })).toBe("folder");
  expect(fileType({ kind: "symlink", name: "film.mkv" })).toBe("link");
  expect(type("Film.MKV")).toBe("video");
  expect(type("backup.tar.gz")).toBe("archive");
  expect(type("notes")).toBe("file");
  expect(type(".zip")).toBe("file");
  expect(type("what.constructor")).toBe("file");
});
