// Paths as the shell writes them: percent-encoded bytes.
import type { Path } from "../types";

export function encode(text: string): Path {
  const bytes = new TextEncoder().encode(text);
  const plain = (byte: number) => /[A-Za-z0-9._~/-]/.test(String.fromCharCode(byte));
  return Array.from(bytes, (byte) =>
    byte < 128 && plain(byte) ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`,
  ).join("");
}

/** Bytes that are no text become U+FFFD, as in what is displayed of a path. */
export function decode(path: Path): string {
  const bytes = path.replace(/%([0-9A-F]{2})/g, (_, byte: string) => String.fromCharCode(parseInt(byte, 16)));
  return new TextDecoder().decode(Uint8Array.from(bytes, (char) => char.charCodeAt(0)));
}
export const lastName = (path: Path): string => decode(path).split("/").pop() ?? "";
