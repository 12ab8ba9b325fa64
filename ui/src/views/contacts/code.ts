// Whether text is a contact's code: what can be told before anybody is asked.
import type { Contact } from "../../ipc";

/** 64 bytes as unpadded base64url, so the last character holds two bits only. */
const CHARS = 86;
const CODE = /^[A-Za-z0-9_-]{85}[AQgw]$/;

/** A link to pair with; `%` and longer codes are left to the check. */
const LINK = /^farhold:(?:\/\/)?pair\//;

export const pairLink = (code: string): string => `farhold://pair/${code}`;

export type CodeCheck =
  | { state: "empty" }
  | { state: "good"; code: string }
  | { state: "length"; count: number }
  | { state: "character" }
  | { state: "own" }
  | { state: "known"; name: string };

/** Looks at what was typed or pasted: a code, also broken into lines, or a link with one. */
export function checkCode(text: string, mine: string | null, contacts: readonly Contact[]): CodeCheck {
  const code = text.replace(/\s+/g, "").replace(LINK, "").replace(/\/$/, "");
  if (code === "") return { state: "empty" };
  if (!/^[A-Za-z0-9_-]*$/.test(code)) return { state: "character" };
  if (code.length !== CHARS) return { state: "length", count: code.length };
  if (!CODE.test(code)) return { state: "character" };
  if (code === mine) return { state: "own" };
  const known = contacts.find((contact) => contact.code === code);
  return known ? { state: "known", name: known.name } : { state: "good", code };
}
