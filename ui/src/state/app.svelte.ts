// The state that the shell tells. Null until the first one came.
import type { Contact, State } from "../ipc";

let current = $state.raw<State | null>(null);

export const app = {
  get state(): State | null {
    return current;
  },
  set(state: State): void {
    current = state;
  },
  get running(): boolean {
    return current?.engine.state === "running";
  },
  contact(name: string): Contact | null {
    return current?.contacts.find((contact) => contact.name === name) ?? null;
  },
};
