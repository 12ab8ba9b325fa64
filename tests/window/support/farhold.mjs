// Farhold's own programs: a relay, and peers, each an engine of its own.

import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { run } from "./processes.mjs";
import { until } from "./until.mjs";
import { freePort } from "./webdriver.mjs";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/**
 * Where cargo put a program.
 * @param {"farhold" | "farhold-relay" | "farhold-app"} name
 */
export function binary(name) {
  return join(process.env.CARGO_TARGET_DIR ?? join(ROOT, "target"), "debug", name);
}

/**
 * Starts a relay on free ports of loopback.
 * @param {import("./desktop.mjs").Desktop} desktop
 * @returns {Promise<string>} its address
 */
export async function startRelay(desktop) {
  // It takes two more ports above the one that it is given.
  return until("a relay", async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const relay = desktop.start(binary("farhold-relay"), ["--json", "--listen", address]);
    return JSON.parse(await relay.line()).ready && address;
  });
}

/** An engine that commands ask, whoever hosts it. */
export class Engine {
  /**
   * @param {import("./desktop.mjs").Desktop} desktop
   * @param {string} config its config directory
   */
  constructor(desktop, config) {
    this.desktop = desktop;
    this.config = config;
    /** @type {import("./processes.mjs").Program | null} */
    this.program = null;
  }

  /**
   * Runs a command, whatever comes of it.
   * @param {...string} args
   */
  command(...args) {
    return run(binary("farhold"), ["--json", "--config-dir", this.config, ...args], { env: this.desktop.env });
  }

  /**
   * Runs a command that must succeed, and gives its answer.
   * @param {...string} args
   * @returns {Promise<any>}
   */
  async ask(...args) {
    const { code, output, errors } = await this.command(...args);
    if (code !== 0) throw new Error(`farhold ${args.join(" ")}: ${errors}`);
    return output === "" ? null : JSON.parse(output);
  }

  /** @returns {Promise<string>} */
  async code() {
    return (await this.ask("code")).code;
  }

  /**
   * State of the session with a contact.
   * @param {string} name
   * @returns {Promise<string>}
   */
  async session(name) {
    const { contacts } = await this.ask("status");
    const contact = contacts.find((/** @type {{ name: string }} */ each) => each.name === name);
    return contact?.session.state ?? "none";
  }

  /**
   * Waits until the session with a contact is in a state.
   * @param {string} name
   * @param {string} state
   */
  sessionIs(name, state) {
    return until(`the session with ${name} is ${state}`, async () => (await this.session(name)) === state);
  }
}

/** A peer without a window and without a drive, with a folder for what it shares. */
export class Peer extends Engine {
  /**
   * @param {import("./desktop.mjs").Desktop} desktop
   * @param {string} folder
   */
  constructor(desktop, folder) {
    super(desktop, join(folder, "config"));
    this.folder = folder;
  }

  /**
   * @param {import("./desktop.mjs").Desktop} desktop
   * @param {string} relay
   */
  static async start(desktop, relay) {
    const peer = new Peer(desktop, await mkdtemp(join(desktop.folder, "peer-")));
    peer.program = startEngine(peer, "--relay", relay, "--no-mount");
    await peer.program.line();
    return peer;
  }
}

/**
 * Starts the engine without a window.
 * @param {Engine} engine
 * @param {...string} options
 */
export function startEngine(engine, ...options) {
  const args = ["--json", "--config-dir", engine.config, "up", ...options];
  return engine.desktop.start(binary("farhold"), args);
}

/**
 * Saves each as the other's contact ("anna" and "ben") and waits until they are connected.
 * @param {Engine} anna
 * @param {Engine} ben
 */
export async function pair(anna, ben) {
  const code = await until("anna's engine", () => anna.code());
  await anna.ask("contact", "add", "ben", await ben.code());
  await ben.ask("contact", "add", "anna", code);
  await anna.ask("connect", "ben", "--wait", "30");
  await anna.sessionIs("ben", "connected");
  await ben.sessionIs("anna", "connected");
}
