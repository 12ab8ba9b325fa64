// A backend without the shell, to develop and test the page: `vite --mode mock`. It is left out of the real page.
//
// In the address: `scenario` (see world.ts), and `theme`, `language`, `scale` of the preferences. `still` stops time, for
// pictures. Tests reach it as `window.farholdMock`.
import type { Arguments, Backend, Unlisten } from "../backend";
import type { Events, Failure } from "../types";
import { COMMANDS, fail } from "./commands";
import { SCENARIOS, World, type Emit, type Scenario } from "./world";

type Handler = (payload: never) => void;

export type MockHandle = {
  /** Tells the page an event, as the shell would. */
  emit: (event: string, payload: unknown) => void;
  /** Every command so far. */
  calls: { command: string; args: Arguments }[];
  /** Lets a command fail from now on; null lets it be answered again. */
  fail: (command: string, failure: Failure | null) => void;
};

declare global {
  interface Window {
    farholdMock: MockHandle;
  }
}

/** What works while no engine runs. */
const WITHOUT_ENGINE = new Set(["state", "preferences", "set_preferences", "restart_engine", "copy_text", "painted", "close_window", "quit", "doctor", "preview_diagnostics", "export_diagnostics"]);
/** What tells of nothing that a state would show. */
const QUIET = new Set(["state", "transfers", "preferences", "settings", "list", "watch_open_files", "painted", "qr"]);

export function mock(query: URLSearchParams): Backend {
  const handlers = new Map<string, Set<Handler>>();
  const failures = new Map<string, Failure>();
  const emit: Emit = (event, payload) => handlers.get(event)?.forEach((handler) => handler(payload as never));

  const asked = query.get("scenario");
  const scenario: Scenario = SCENARIOS.find((one) => one === asked) ?? "busy";
  const world = new World(scenario, query, emit);
  if (!query.has("still") && scenario !== "loading") world.start();

  window.farholdMock = {
    emit: (event, payload) => handlers.get(event)?.forEach((handler) => handler(payload as never)),
    calls: [],
    fail: (command, failure) => void (failure ? failures.set(command, failure) : failures.delete(command)),
  };

  return {
    async invoke(command, args) {
      const { channel: _, ...plain } = args;
      window.farholdMock.calls.push({ command, args: plain });
      const failure = failures.get(command);
      if (failure) throw failure;
      if (world.scenario === "loading" && ["state", "transfers", "list", "settings", "doctor"].includes(command)) {
        return new Promise(() => {});
      }
      const answer = COMMANDS[command] ?? fail("usage", `There is no command ${command}.`);
      if (world.state.engine.state !== "running" && !WITHOUT_ENGINE.has(command)) {
        fail("notRunning", "The engine is not running. Start it again, then retry.");
      }
      const result = await answer(world, args);
      if (!QUIET.has(command)) world.tell();
      // The shell's answers are copies, too.
      return structuredClone(result);
    },
    listen<E extends keyof Events>(event: E, handler: (payload: Events[E]) => void): Promise<Unlisten> {
      const all = handlers.get(event) ?? new Set();
      handlers.set(event, all.add(handler as Handler));
      return Promise.resolve(() => void all.delete(handler as Handler));
    },
    channel: (handler) => handler,
  };
}
