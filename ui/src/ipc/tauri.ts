// The shell as a backend.
import { Channel, invoke } from "@tauri-apps/api/core";
import { listen } from "@tauri-apps/api/event";
import type { Backend } from "./backend";

export const tauri: Backend = {
  invoke: (command, args) => invoke(command, args),
  listen: (event, handler) => listen(event, (message) => handler(message.payload as Parameters<typeof handler>[0])),
  channel: (handler) => new Channel<unknown>(handler),
};
