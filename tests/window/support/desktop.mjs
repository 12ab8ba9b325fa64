// A desktop of the test's own: display, session bus, window manager, and folders. Nothing of the user's is seen or touched.

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Program, cleanups, processes, run } from "./processes.mjs";
import { TrayHost } from "./tray.mjs";
import { until } from "./until.mjs";

/** Tells our processes from all others, through whatever started them. */
const MARK = "FARHOLD_TEST_DESKTOP";

/** No program is started by the bus itself: what a test does not start is not there. */
const BUS = (/** @type {string} */ socket) => `<busconfig>
  <type>session</type>
  <listen>unix:path=${socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`;

export class Desktop {
  /**
   * @param {string} folder
   * @param {NodeJS.ProcessEnv} env
   */
  constructor(folder, env) {
    this.folder = folder;
    this.env = env;
    /** @type {Program[]} in the order of their starts */
    this.programs = [];
    /** @type {TrayHost | null} */
    this.host = null;
    this.cleanup = () => this.close();
    cleanups.add(this.cleanup);
  }

  /** @param {{ tray?: boolean }} [options] whether a panel with a tray is there */
  static async open({ tray = true } = {}) {
    const folder = await mkdtemp(join(tmpdir(), "farhold-window-"));
    const runtime = join(folder, "run");
    await mkdir(runtime, { mode: 0o700 });
    await mkdir(join(folder, "tmp"));
    const desktop = new Desktop(folder, environment(folder, runtime));
    try {
      await desktop.#start(tray);
    } catch (error) {
      await desktop.close().catch(() => {});
      throw error;
    }
    return desktop;
  }

  /** @param {boolean} tray */
  async #start(tray) {
    const socket = join(this.folder, "bus");
    const config = join(this.folder, "bus.conf");
    await writeFile(config, BUS(socket));
    const bus = this.start("dbus-daemon", ["--nofork", "--nopidfile", `--config-file=${config}`, "--print-address"]);
    this.env.DBUS_SESSION_BUS_ADDRESS = await bus.line();

    const screen = ["-screen", "0", "1400x1000x24", "-nolisten", "tcp", "-noreset"];
    const display = this.start("Xvfb", ["-displayfd", "3", ...screen], { numbered: true });
    this.env.DISPLAY = `:${await display.line()}`;
    this.start("openbox", ["--sm-disable"]);
    await until("a window manager", async () => (await this.root("_NET_SUPPORTING_WM_CHECK")).includes("window id"));

    this.host = await TrayHost.start(this, tray);
  }

  /** The panel's end of the tray, and of notifications. */
  get tray() {
    if (this.host === null) throw new Error("the desktop is not open");
    return this.host;
  }

  /**
   * Starts a program on this desktop.
   * @param {string} command
   * @param {string[]} args
   * @param {{ env?: NodeJS.ProcessEnv, cwd?: string, numbered?: boolean }} [options]
   */
  start(command, args, options = {}) {
    const program = new Program(command, args, { ...options, env: { ...this.env, ...options.env } });
    this.programs.push(program);
    return program;
  }

  /**
   * Runs a program on this desktop to its end, which must be a good one, and gives what it printed.
   * @param {string} command
   * @param {string[]} args
   */
  async run(command, args) {
    const { code, output, errors } = await run(command, args, { env: this.env });
    if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}: ${errors}`);
    return output;
  }

  /**
   * A property of the root window.
   * @param {string} property
   */
  root(property) {
    return this.run("xprop", ["-root", property]);
  }

  /** Ends everything in order; what is still there then is ended too, and is an error. */
  async close() {
    cleanups.delete(this.cleanup);
    /** @type {unknown[]} */
    const failures = [];
    for (const program of this.programs.reverse()) {
      await program.stop().catch((error) => failures.push(error));
    }
    const left = () => processes(MARK, this.folder);
    await until("helpers of ended programs are gone", async () => (await left()).length === 0, 5_000).catch(() => {});
    for (const { id, name } of await left()) {
      failures.push(new Error(`left running: ${name} (${id})`));
      process.kill(id, "SIGKILL");
    }
    for (const point of this.mounts()) {
      failures.push(new Error(`left mounted: ${point}`));
      await run("umount", ["--lazy", point]);
    }
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
    if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join("\n"));
  }

  /** What is mounted in this desktop's folders. */
  mounts() {
    return readFileSync("/proc/self/mounts", "utf8")
      .split("\n")
      .map((line) => line.split(" ")[1] ?? "")
      .filter((point) => point.startsWith(`${this.folder}/`));
  }
}

/**
 * @param {string} folder
 * @param {string} runtime
 * @returns {NodeJS.ProcessEnv}
 */
function environment(folder, runtime) {
  return {
    PATH: process.env.PATH,
    TMPDIR: join(folder, "tmp"),
    RUST_BACKTRACE: process.env.RUST_BACKTRACE,
    [MARK]: folder,
    LANG: "C.UTF-8",
    XDG_RUNTIME_DIR: runtime,
    ...home(join(folder, "home")),
    GDK_BACKEND: "x11",
    GIO_USE_VFS: "local",
    GSETTINGS_BACKEND: "memory",
    NO_AT_BRIDGE: "1",
  };
}

/**
 * The variables of a user whose home is `folder`.
 * @param {string} folder
 */
export function home(folder) {
  return {
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, ".config"),
    XDG_DATA_HOME: join(folder, ".local/share"),
    XDG_STATE_HOME: join(folder, ".local/state"),
    XDG_CACHE_HOME: join(folder, ".cache"),
  };
}
