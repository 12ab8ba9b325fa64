// The panel of a test's desktop (tray_host.py): what a user sees of the tray, and the notifications that came.

import { fileURLToPath } from "node:url";

import { until } from "./until.mjs";

/**
 * @typedef {object} Entry an entry of a tray menu
 * @property {string} label
 * @property {boolean} enabled
 * @property {boolean} separator
 * @property {boolean} checked
 * @property {Entry[]} entries
 */

export class TrayHost {
  /** @param {import("./processes.mjs").Program} program */
  constructor(program) {
    this.program = program;
    this.requests = 0;
    /** @type {Map<number, (answer: { result?: unknown, error?: string }) => void>} */
    this.waiting = new Map();
    program.onLine = (line) => {
      const answer = JSON.parse(line);
      this.waiting.get(answer.id)?.(answer);
      this.waiting.delete(answer.id);
    };
  }

  /**
   * @param {import("./desktop.mjs").Desktop} desktop
   * @param {boolean} present whether there is a tray
   */
  static async start(desktop, present) {
    // The system's python: GLib's bindings are Debian packages.
    const program = desktop.start("/usr/bin/python3", [fileURLToPath(new URL("tray_host.py", import.meta.url))]);
    await program.line();
    const host = new TrayHost(program);
    await host.#ask({ do: "host", present });
    return host;
  }

  /**
   * @param {object} request
   * @returns {Promise<any>}
   */
  async #ask(request) {
    const id = ++this.requests;
    const answer = await new Promise((resolve, reject) => {
      this.waiting.set(id, resolve);
      void this.program.ended.then(() => reject(new Error(`the panel ended:\n${this.program.errors}`)));
      this.program.child.stdin?.write(`${JSON.stringify({ ...request, id })}\n`);
    });
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.result;
  }

  /**
   * The icons in the tray.
   * @returns {Promise<Record<string, string | boolean | number>[]>}
   */
  items() {
    return this.#ask({ do: "items" });
  }

  /**
   * The menu of the one icon.
   * @returns {Promise<Entry[]>}
   */
  menu() {
    return this.#ask({ do: "menu" });
  }

  /** The one icon's picture, to be compared with others. */
  async picture() {
    return (await this.items())[0]?.Picture;
  }

  /**
   * Waits until the menu has an entry whose label matches.
   * @param {RegExp} label
   */
  shows(label) {
    return until(`the tray shows ${label}`, async () => (await this.menu()).some((entry) => label.test(entry.label)));
  }

  /**
   * Waits until the menu has an entry there that can be chosen, and chooses it.
   * @param {...RegExp} path what matches its label, after those of the menus around it
   */
  async choose(...path) {
    await until(`the tray's ${path.join(" > ")} can be chosen`, async () => {
      await this.#ask({ do: "click", path: path.map((label) => label.source) });
      return true;
    });
  }

  /**
   * Waits until a notification came whose text matches.
   * @param {RegExp} text of its summary and body
   */
  notification(text) {
    /** @type {{ summary: string, body: string }[]} */
    const all = [];
    return until(`a notification of ${text}`, async () => {
      all.push(...(await this.#ask({ do: "notifications" })));
      return all.find(({ summary, body }) => text.test(`${summary}\n${body}`));
    });
  }
}
