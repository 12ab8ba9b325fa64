// What a file manager does with files, on the test's desktop: real drags by the pointer, and the clipboard.

import { fileURLToPath } from "node:url";

import { until } from "./until.mjs";

const PROGRAM = fileURLToPath(new URL("files_source.py", import.meta.url));
/** Where the little window lies that files are dragged from: the corner that no other window covers. */
const SOURCE = { x: 1280, y: 920 };
/** Its middle. */
const GRIP = { x: SOURCE.x + 50, y: SOURCE.y + 30 };

/** A drag under way: the button is down and the files are over the window. */
export class Drag {
  /**
   * @param {import("./desktop.mjs").Desktop} desktop
   * @param {import("./processes.mjs").Program} source
   */
  constructor(desktop, source) {
    this.desktop = desktop;
    this.source = source;
    /** @type {string[]} */
    this.said = [];
    source.onLine = (line) => this.said.push(line);
  }

  /**
   * Takes files and moves them over the point.
   * @param {import("./desktop.mjs").Desktop} desktop
   * @param {string[]} files
   * @param {{ x: number, y: number }} to
   */
  static async start(desktop, files, to) {
    const source = desktop.start("/usr/bin/python3", [PROGRAM, "drag", `${SOURCE.x},${SOURCE.y}`, ...files]);
    await source.line();
    const drag = new Drag(desktop, source);
    await drag.#pointer(`mousemove ${GRIP.x} ${GRIP.y} mousedown 1`);
    // A press becomes a drag only after some way; each step is an event of its own.
    await until("the drag began", async () => {
      await drag.#pointer(steps(GRIP, { x: GRIP.x - 30, y: GRIP.y - 10 }, 6));
      return drag.said.includes("begin");
    });
    await drag.over(to);
    return drag;
  }

  /** @param {{ x: number, y: number }} to */
  async over(to) {
    await this.#pointer(steps(GRIP, to, 15));
    // The window hears of files only while they move.
    await this.#pointer(`mousemove ${to.x + 1} ${to.y}`);
  }

  /** Lets go. */
  async drop() {
    await this.#pointer("mouseup 1");
    await until("the drag ended", () => this.said.includes("end"));
    await this.source.wait(10_000);
  }

  /** @param {string} commands */
  #pointer(commands) {
    return this.desktop.run("xdotool", commands.split(" "));
  }
}

/**
 * @param {{ x: number, y: number }} from
 * @param {{ x: number, y: number }} to
 * @param {number} count
 */
function steps(from, to, count) {
  const commands = [];
  for (let step = 1; step <= count; step++) {
    const x = Math.round(from.x + ((to.x - from.x) * step) / count);
    const y = Math.round(from.y + ((to.y - from.y) * step) / count);
    commands.push(`mousemove ${x} ${y} sleep 0.02`);
  }
  return commands.join(" ");
}

/**
 * Puts files into the clipboard, until the program that is returned is stopped.
 * @param {import("./desktop.mjs").Desktop} desktop
 * @param {string[]} files
 */
export async function copy(desktop, files) {
  const source = desktop.start("/usr/bin/python3", [PROGRAM, "copy", ...files]);
  await source.line();
  return source;
}
