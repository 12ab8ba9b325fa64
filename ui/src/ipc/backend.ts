// The way to whoever answers: the shell, or the mock backend. index.ts is the only user.
import type { Events } from "./types";

export type Arguments = Record<string, unknown>;
export type Unlisten = () => void;

export interface Backend {
  invoke(command: string, args: Arguments): Promise<unknown>;
  listen<E extends keyof Events>(event: E, handler: (payload: Events[E]) => void): Promise<Unlisten>;
  /** Something to pass as an argument that the other side sends messages into. */
  channel(handler: (message: unknown) => void): unknown;
}

let chosen: Backend | null = null;

/** Must be called before anything else of `ipc`. */
export function useBackend(backend: Backend): void {
  chosen = backend;
}

export function backend(): Backend {
  if (!chosen) throw new Error("no backend was chosen");
  return chosen;
}
