// Short messages at the window's edge. What needs an answer is a dialog or a banner instead.
import { failure } from "../ipc";

export type ToastKind = "info" | "success" | "error";
export type Toast = {
  id: number;
  kind: ToastKind;
  message: string;
  action: { label: string; run: () => void } | null;
};

/** More at once cannot be read; the oldest goes. */
const MOST = 4;
const SHOWN_MS = 6_000;

let next = 0;
let list = $state.raw<readonly Toast[]>([]);

export const toasts = {
  get list(): readonly Toast[] {
    return list;
  },
  show(message: string, kind: ToastKind = "info", action: Toast["action"] = null): void {
    const id = next++;
    // The same message again replaces itself.
    const others = list.filter((toast) => toast.message !== message || toast.kind !== kind);
    list = [...others, { id, kind, message, action }].slice(-MOST);
    // An error stays until it is closed: it says what to do.
    if (kind !== "error") setTimeout(() => toasts.close(id), SHOWN_MS);
  },
  success(message: string): void {
    toasts.show(message, "success");
  },
  /** Shows whatever a command was rejected with. */
  failure(error: unknown): void {
    toasts.show(failure(error).message, "error");
  },
  close(id: number): void {
    list = list.filter((toast) => toast.id !== id);
  },
};

/** Runs a command; a failure becomes a toast. Tells whether it went well. */
export async function attempt(command: () => Promise<unknown>): Promise<boolean> {
  try {
    await command();
    return true;
  } catch (error) {
    toasts.failure(error);
    return false;
  }
}
