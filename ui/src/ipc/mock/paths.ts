// Paths as the shell writes them: percent-encoded bytes.
import type { Path } from "../types";

export function encode(text: string): Path {
  const bytes = new TextEncoder().encode(text);
  const plain = (byte: number) => /[A-Za-z0-9._~/-]/.test(String.fromCharCode(byte));
  return Array.from(bytes, (byte) =>
    byte < 128 && plain(byte) ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
  ).join("");
}

export const decode = (path: Path): string => decodeURIComponent(path);
export const lastName = (path: Path): string => decode(path).split("/").pop() ?? "";
