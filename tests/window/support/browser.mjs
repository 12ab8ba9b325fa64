// The page in Chromium, with its mock backend instead of the shell.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";
import { preview } from "vite";

import { freePort } from "./webdriver.mjs";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** What the window lets its page do holds here too. */
const POLICY = JSON.parse(readFileSync(join(ROOT, "src-tauri/tauri.conf.json"), "utf8")).app.security.csp;

export const VIEWS = ["contacts", "drive", "shares", "transfers", "performance", "cache", "settings", "diagnostics"];
export const SCENARIOS = ["busy", "empty", "offline", "failed", "firstrun", "many", "loading"];
/** The least and the usual size of the window. */
export const LEAST = { width: 720, height: 520 };
export const USUAL = { width: 1080, height: 720 };

/** @typedef {import("playwright-core").Page} BrowserPage */

/**
 * What the mock backend shows of itself.
 * @typedef {object} Mock
 * @property {(event: string, payload: unknown) => void} emit
 * @property {{ command: string, args: Record<string, any> }[]} calls
 */

export class Browser {
  /**
   * @param {import("vite").PreviewServer} server
   * @param {import("playwright-core").Browser} chrome
   * @param {string} address
   */
  constructor(server, chrome, address) {
    this.server = server;
    this.chrome = chrome;
    this.address = address;
  }

  static async start() {
    const port = await freePort();
    const server = await preview({
      configFile: join(ROOT, "vite.config.ts"),
      mode: "mock",
      logLevel: "error",
      preview: { host: "127.0.0.1", port, strictPort: true, headers: { "content-security-policy": POLICY } },
    });
    const chrome = await chromium.launch({
      executablePath: "/usr/bin/chromium",
      // Root has no sandbox, and nothing is asked of the network.
      args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"],
    });
    return new Browser(server, chrome, `http://127.0.0.1:${port}/`);
  }

  async close() {
    await this.chrome.close();
    await this.server.close();
  }

  /**
   * Opens the page as a window of its own.
   * @param {import("playwright-core").BrowserContextOptions} [options]
   */
  async open(options = {}) {
    const context = await this.chrome.newContext({ viewport: USUAL, locale: "en-US", reducedMotion: "reduce", ...options });
    return new Tab(this.address, await context.newPage());
  }
}

export class Tab {
  /**
   * @param {string} address
   * @param {BrowserPage} page
   */
  constructor(address, page) {
    this.address = address;
    this.page = page;
    page.setDefaultTimeout(20_000);
    /** @type {string[]} what went wrong in the page */
    this.errors = [];
    page.on("pageerror", (error) => this.errors.push(String(error)));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.errors.push(message.text());
    });
    page.on("requestfailed", (request) => this.errors.push(`${request.url()}: ${request.failure()?.errorText}`));
  }

  /**
   * Loads a view in a scenario and waits until it is there.
   * @param {string} view
   * @param {string} [scenario]
   * @param {Record<string, string>} [more] further parameters of the mock backend
   */
  async show(view, scenario = "busy", more = {}) {
    // The address alone with another fragment would not load the page again.
    await this.page.goto("about:blank");
    await this.page.goto(`${this.address}?${new URLSearchParams({ scenario, ...more })}#${view}`);
    // In very little room the heading gives way to the rest.
    await this.page.locator("h1").waitFor({ state: "attached" });
  }

  /**
   * Waits until everything that comes has come; in the scenario "loading" nothing does.
   * @param {string} scenario
   */
  async settled(scenario) {
    if (scenario === "loading") return;
    await this.page.waitForFunction(() => document.querySelector('[aria-busy="true"], .skeleton') === null);
  }

  /**
   * What is wrong with the page for those who see, hear or point differently.
   * @returns {Promise<{ rule: string, help: string, where: string[] }[]>}
   */
  async violations() {
    if (!(await this.page.evaluate(() => "axe" in window))) await this.page.evaluate(AXE);
    return this.page.evaluate(async () => {
      const { axe } = /** @type {any} */ (window);
      const found = await axe.run(document, { resultTypes: ["violations"] });
      return found.violations.map((/** @type {any} */ violation) => ({
        rule: violation.id,
        help: violation.help,
        where: violation.nodes.map((/** @type {any} */ node) => `${node.target.join(" ")}: ${node.any[0]?.message ?? node.html}`),
      }));
    });
  }

  /**
   * Lets the backend tell something.
   * @param {string} event
   * @param {unknown} payload
   */
  emit(event, payload) {
    return this.page.evaluate(([name, what]) => /** @type {any} */ (window).farholdMock.emit(name, what), /** @type {const} */ ([event, payload]));
  }

  /**
   * The arguments with which a command was called so far.
   * @param {string} command
   * @returns {Promise<Record<string, any>[]>}
   */
  calls(command) {
    return this.page.evaluate(
      (name) =>
        /** @type {Mock} */ (/** @type {any} */ (window).farholdMock).calls.filter((call) => call.command === name).map((call) => call.args),
      command,
    );
  }

  close() {
    return this.page.context().close();
  }
}
