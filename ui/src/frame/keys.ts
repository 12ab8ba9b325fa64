// What the frame does on a key, as a pure function.
import { VIEWS, type ViewName } from "../state/router.svelte";

export type Pressed = {
  key: string;
  ctrl: boolean;
  alt: boolean;
  shift: boolean;
  /** Whether the focus is in something that takes text. */
  typing: boolean;
};

export type Action = { go: ViewName } | "filter" | "help" | "add" | "nothing";

/** Null: the key is not the frame's. `nothing`: the frame keeps the browser from doing its own. */
export function action({ key, ctrl, alt, shift, typing }: Pressed): Action | null {
  if (alt) return null;
  if (ctrl && !shift) {
    const view = /^[1-9]$/.test(key) ? VIEWS[Number(key) - 1] : undefined;
    if (view) return { go: view };
    if (key === "n") return "add";
    if (["k", "r", "p", "f", "g", "j", "u", "s"].includes(key)) return key === "f" ? "filter" : "nothing";
    return null;
  }
  if (key === "F5" || (ctrl && key.toLowerCase() === "r")) return "nothing";
  if (typing || ctrl) return null;
  if (key === "/") return "filter";
  if (key === "?") return "help";
  return null;
}
