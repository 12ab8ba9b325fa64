// Programs that a test starts. Each is ended by its id, at the latest when the test's own process ends, whatever ended it.

import { spawn } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { createInterface } from "node:readline";

/** How long a program may take to end once asked; the window promises 10 s. */
const END_WITHIN = 12_000;

/** @type {Set<Program>} */
const running = new Set();

/** @type {Set<() => Promise<unknown>>} what a signal to us does before we end; programs are ended anyway */
export const cleanups = new Set();

/** @type {Promise<unknown> | null} */
let ending = null;
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
  // More signals may come: from the terminal, and from the test runner.
  process.on(signal, async () => {
    ending ??= Promise.allSettled([...cleanups].map((cleanup) => cleanup()));
    await ending;
    process.exit(130);
  });
}
process.on("exit", () => {
  for (const program of running) program.signal("SIGKILL");
});

/**
 * @typedef {object} StartOptions
 * @property {NodeJS.ProcessEnv} [env]
 * @property {string} [cwd]
 * @property {boolean} [numbered] whether file descriptor 3 is a pipe to us
 */

/** A running program with its output watched. */
export class Program {
  /**
   * @param {string} command
   * @param {string[]} args
   * @param {StartOptions} [options]
   */
  constructor(command, args, options = {}) {
    this.name = command;
    /** @type {string[]} lines of standard output that nobody took yet */
    this.lines = [];
    /** @type {string} end of what it wrote to standard error */
    this.errors = "";
    /** @type {((line: string) => void) | null} */
    this.onLine = null;
    // Linux tells it when we are killed, so that even then nothing stays behind.
    this.child = spawn("setpriv", ["--pdeathsig", "TERM", "--", command, ...args], {
      env: options.env ?? process.env,
      cwd: options.cwd,
      // A group of its own: Ctrl-C in a terminal goes to us, and we end it in order.
      detached: true,
      stdio: options.numbered ? ["pipe", "pipe", "pipe", "pipe"] : ["pipe", "pipe", "pipe"],
    });
    running.add(this);
    /** @type {Promise<{ code: number | null, signal: NodeJS.Signals | null }>} */
    this.ended = new Promise((resolve) => {
      this.child.on("error", (error) => {
        running.delete(this);
        this.errors += String(error);
        resolve({ code: null, signal: null });
      });
      this.child.on("exit", (code, signal) => {
        running.delete(this);
        resolve({ code, signal });
      });
    });
    this.child.stdin?.on("error", () => {});
    this.child.stderr?.setEncoding("utf8").on("data", (text) => {
      this.errors = (this.errors + text).slice(-20_000);
    });
    const stdout = this.child.stdout;
    if (stdout === null) throw new Error(`${command} has no output`);
    createInterface({ input: stdout }).on("line", (line) => {
      if (this.onLine) this.onLine(line);
      else this.lines.push(line);
    });
  }

  /** Its process id. */
  get id() {
    return this.child.pid ?? 0;
  }

  get isRunning() {
    return running.has(this);
  }

  /**
   * The first line that comes on file descriptor 3 or, without `numbered`, on standard output.
   * @param {number} [within] milliseconds
   * @returns {Promise<string>}
   */
  async line(within = 30_000) {
    const numbered = /** @type {import("node:stream").Readable | null} */ (this.child.stdio[3] ?? null);
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const line = new Promise((resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`${this.name} said nothing:\n${this.errors}`)), within);
      void this.ended.then(({ code }) => reject(new Error(`${this.name} ended with ${code}:\n${this.errors}`)));
      const first = this.lines.shift();
      if (first !== undefined && numbered === null) resolve(first);
      else if (numbered === null) this.onLine = resolve;
      else createInterface({ input: numbered }).once("line", resolve);
    });
    try {
      return /** @type {string} */ (await line);
    } finally {
      clearTimeout(timer);
      if (numbered === null) this.onLine = null;
    }
  }

  /** @param {NodeJS.Signals} signal */
  signal(signal) {
    if (this.isRunning && this.id !== 0) process.kill(this.id, signal);
  }

  /**
   * Waits for its own end.
   * @param {number} within milliseconds
   */
  async wait(within) {
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${this.name} did not end within ${within / 1000} s:\n${this.errors}`)), within);
    });
    try {
      return await /** @type {typeof this.ended} */ (Promise.race([this.ended, late]));
    } finally {
      clearTimeout(timer);
    }
  }

  /** Asks it to end, and waits; one that does not end is killed, and that is an error. */
  async stop() {
    this.signal("SIGTERM");
    try {
      return await this.wait(END_WITHIN);
    } catch (error) {
      this.signal("SIGKILL");
      await this.ended;
      throw error;
    }
  }

  /** Ends it at once, as a crash would. */
  async kill() {
    this.signal("SIGKILL");
    return this.ended;
  }
}

/**
 * Runs a program to its end, and gives what it printed.
 * @param {string} command
 * @param {string[]} args
 * @param {StartOptions} [options]
 */
export async function run(command, args, options) {
  const program = new Program(command, args, options);
  /** @type {string[]} */
  const lines = program.lines;
  program.onLine = (line) => lines.push(line);
  program.child.stdin?.end();
  try {
    const { code } = await program.wait(60_000);
    // The last lines may come after the end.
    await new Promise((resolve) => (program.child.stdout?.closed ? resolve(null) : program.child.once("close", resolve)));
    return { code, output: lines.join("\n"), errors: program.errors };
  } finally {
    await program.kill();
  }
}

/**
 * The running processes that were started with a variable of that value in their environment.
 * @param {string} variable
 * @param {string} value
 */
export async function processes(variable, value) {
  const found = [];
  for (const id of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    // One that ended meanwhile, or that is another user's, cannot be read; one that nobody waited for has none.
    const environ = await readFile(`/proc/${id}/environ`, "utf8").catch(() => "");
    if (!environ.split("\0").includes(`${variable}=${value}`)) continue;
    const name = await readFile(`/proc/${id}/comm`, "utf8").catch(() => "");
    found.push({ id: Number(id), name: name.trim() });
  }
  return found;
}
