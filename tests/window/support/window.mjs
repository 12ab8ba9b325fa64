// The window: the real program under WebDriver, with a home and a config directory of its own.

import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { home } from "./desktop.mjs";
import { Engine, binary } from "./farhold.mjs";
import { processes } from "./processes.mjs";
import { until } from "./until.mjs";
import { Page, freePort } from "./webdriver.mjs";

const TITLE = "Farhold";

/** The views, in the order of their keys. */
const VIEWS = ["contacts", "drive", "shares", "transfers", "performance", "cache", "settings", "diagnostics"];

/** What window.json holds for somebody who knows the window. */
const REMEMBERED = {
  version: 1,
  preferences: {
    theme: "light",
    language: "en",
    scale: 100,
    notifications: { present: true, offered: true, transferDone: true, transferFailed: true, conflict: true, diskLow: true },
    autostart: false,
    closeToTray: true,
    firstRunDone: true,
  },
  place: null,
  // Else a page that is painted late, on a busy machine, would start the program again.
  safe_renderer: true,
};

/**
 * What settings.json holds.
 * @param {string | null} relay
 */
export function settings(relay) {
  return {
    version: 1,
    relay,
    drive: null,
    mount: true,
    allow_other: false,
    listen_port: 0,
    lan: true,
    relay_only: false,
    cache_dir: null,
    cache_limit: 1_000_000_000,
    limit_receive: null,
    limit_send: null,
  };
}

/** A user of the window: their home, in which the window is started, perhaps again and again. */
export class User extends Engine {
  /**
   * @param {import("./desktop.mjs").Desktop} desktop
   * @param {string} folder
   */
  constructor(desktop, folder) {
    super(desktop, join(folder, ".config/farhold"));
    this.home = folder;
    /** Where the drive is mounted unless told otherwise. */
    this.drive = join(folder, "Farhold");
  }

  /**
   * Somebody who knows the window already.
   * @param {import("./desktop.mjs").Desktop} desktop
   * @param {string | null} relay
   */
  static async create(desktop, relay) {
    const user = await User.newcomer(desktop);
    await user.write("settings.json", settings(relay));
    await user.write("window.json", REMEMBERED);
    return user;
  }

  /**
   * Somebody who has nothing of Farhold yet.
   * @param {import("./desktop.mjs").Desktop} desktop
   */
  static async newcomer(desktop) {
    const user = new User(desktop, await mkdtemp(join(desktop.folder, "user-")));
    await mkdir(user.config, { recursive: true, mode: 0o700 });
    return user;
  }

  /**
   * Writes a file of the config directory.
   * @param {string} name
   * @param {object | string} content
   */
  write(name, content) {
    return writeFile(join(this.config, name), typeof content === "string" ? content : JSON.stringify(content));
  }

  get env() {
    return { ...home(this.home) };
  }

  /**
   * Opens the window.
   * @param {...string} args
   */
  async open(...args) {
    const port = await freePort();
    // WebDriver starts the program, which takes over its environment.
    const env = { ...this.env, TAURI_WEBVIEW_AUTOMATION: "true" };
    const driver = this.desktop.start("WebKitWebDriver", [`--port=${port}`, "--host=127.0.0.1"], { env });
    const server = `http://127.0.0.1:${port}`;
    await until("WebDriver", async () => (await fetch(`${server}/status`)).ok);
    const page = await Page.open(server, binary("farhold-app"), args);
    return new Window(this, driver, page);
  }

  /** Process ids of this user's window, of which there should be one or none. */
  async running() {
    const found = await processes("HOME", this.home);
    return found.filter(({ name }) => name === "farhold-app").map(({ id }) => id);
  }

  /** The window on screen, or null while there is none. */
  shown() {
    return shown(this.desktop);
  }

  /**
   * Starts the program once more, beside the open window or without WebDriver.
   * @param {...string} args
   */
  start(...args) {
    return this.desktop.start(binary("farhold-app"), args, { env: this.env });
  }
}

export class Window {
  /**
   * @param {User} user
   * @param {import("./processes.mjs").Program} driver
   * @param {Page} page
   */
  constructor(user, driver, page) {
    this.user = user;
    this.desktop = user.desktop;
    this.driver = driver;
    this.page = page;
  }

  /** Ends the program in order, whatever it is doing. */
  async close() {
    for (const id of await this.user.running()) process.kill(id, "SIGTERM");
    await this.ended(12_000);
    // The session goes with the program.
    await this.page.close().catch(() => {});
    await this.driver.stop();
  }

  /** The window on screen, or null while there is none. */
  shown() {
    return shown(this.desktop);
  }

  /**
   * Goes to a view by the sidebar.
   * @param {string} view
   */
  async go(view) {
    const { page } = this;
    const at = VIEWS.indexOf(view);
    const button = await until("the sidebar", async () => (await page.all("button", null, await page.get("navigation", "Views")))[at]);
    await page.clickOn(button);
    await until(`the view ${view}`, async () => (await page.run(() => location.hash)).startsWith(`#${view}`));
  }

  /** Moves the window to the screen's corner, and gives the middle of its page. */
  async place() {
    const { id } = await until("the window is shown", () => this.shown());
    await this.desktop.run("xdotool", ["windowmove", "--sync", id, "0", "0"]).catch(() => {});
    const { x, y, width, height } = await until("the window is shown", () => this.shown());
    return { x: Math.round(x + width / 2), y: Math.round(y + height / 2) };
  }

  /** Asks the window manager to close it, as a click on its cross does. */
  async clickClose() {
    const { id } = await until("the window is shown", () => this.shown());
    await this.desktop.run("xdotool", ["windowactivate", "--sync", id, "key", "--clearmodifiers", "alt+F4"]);
  }

  /**
   * Waits until the program has ended by itself.
   * @param {number} [within] milliseconds; what the window promises
   */
  ended(within = 10_000) {
    return until("the window's program has ended", async () => (await this.user.running()).length === 0, within);
  }
}

/**
 * The window on screen, or null while there is none.
 * @param {import("./desktop.mjs").Desktop} desktop
 */
async function shown(desktop) {
  const found = await desktop.run("xdotool", ["search", "--onlyvisible", "--name", `^${TITLE}$`]).catch(() => "");
  for (const id of found.split("\n").filter(Boolean)) {
    const place = await desktop.run("xdotool", ["getwindowgeometry", "--shell", id]).catch(() => "");
    const number = (/** @type {string} */ name) => Number(new RegExp(`^${name}=(\\d+)$`, "m").exec(place)?.[1] ?? 0);
    const [x, y, width, height] = [number("X"), number("Y"), number("WIDTH"), number("HEIGHT")];
    // GTK has hidden windows of the same name.
    if (width > 100) return { id, x, y, width, height };
  }
  return null;
}
