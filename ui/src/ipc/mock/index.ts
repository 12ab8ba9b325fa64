import type { Backend } from "../backend";

export function mock(_query: URLSearchParams): Backend {
  return {
    invoke: (command) => Promise.reject({ kind: "internal", message: `${command} is not answered.` }),
    listen: () => Promise.resolve(() => {}),
    channel: (handler) => handler,
  };
}
