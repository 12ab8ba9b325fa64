// A W3C WebDriver client for WebKitWebDriver, as far as the tests need it.

import { accessSync, constants, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";

import { until } from "./until.mjs";

/** The key of an element's reference, fixed by the standard. */
const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";

/** Roles and names as assistive technology sees them are worked out by axe-core. */
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * Runs in the page: the visible elements of a role, and of a name if one is given.
 * @param {string} role
 * @param {string | null} name text, or the source of a regular expression between slashes
 * @param {Element | null} within
 */
function find(role, name, within) {
  const { axe } = /** @type {any} */ (window);
  const [, source, flags] = /^\/(.*)\/(\w*)$/.exec(name ?? "") ?? [];
  const expression = source === undefined ? null : new RegExp(source, flags);
  const matches = (/** @type {string} */ text) => name === null || (expression ? expression.test(text) : text === name);
  axe.setup(document.documentElement);
  try {
    return [...(within ?? document).querySelectorAll("*")].filter(
      (element) =>
        axe.commons.aria.getRole(element) === role &&
        element.checkVisibility({ visibilityProperty: true }) &&
        !element.closest("[aria-hidden=true],[inert]") &&
        matches(axe.commons.text.accessibleText(element).trim()),
    );
  } finally {
    axe.teardown();
  }
}

/** A page under WebDriver; it lives in a program that WebDriver started. */
export class Page {
  /**
   * @param {string} server
   * @param {string} session
   */
  constructor(server, session) {
    this.server = server;
    this.session = session;
  }

  /**
   * Starts `binary` and takes its page.
   * @param {string} server address of WebKitWebDriver
   * @param {string} binary
   * @param {string[]} args
   */
  static async open(server, binary, args) {
    // Without it, WebKitWebDriver would open a browser of its own and say nothing.
    accessSync(binary, constants.X_OK);
    const capabilities = { alwaysMatch: { "webkitgtk:browserOptions": { binary, args } } };
    const page = new Page(server, "");
    const { sessionId } = await page.#ask("POST", "/session", { capabilities });
    page.session = `/session/${sessionId}`;
    return page;
  }

  /** Ends the program too. */
  close() {
    return this.#ask("DELETE", this.session);
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {object} [body]
   * @returns {Promise<any>}
   */
  async #ask(method, path, body) {
    const response = await fetch(this.server + path, {
      method,
      headers: { "content-type": "application/json" },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(60_000),
    });
    const { value } = /** @type {{ value: any }} */ (await response.json());
    if (!response.ok) throw new Error(`${method} ${path}: ${value?.error}: ${value?.message}`);
    return value;
  }

  /**
   * Runs a function in the page.
   * @template {unknown[]} A
   * @template R
   * @param {(...args: A) => R | Promise<R>} code needs nothing from around it
   * @param {A} args
   * @returns {Promise<Awaited<R>>}
   */
  run(code, ...args) {
    return this.#ask("POST", `${this.session}/execute/sync`, { script: `return (${code})(...arguments)`, args });
  }

  /**
   * The elements of a role, and of a name if one is given.
   * @param {string} role
   * @param {string | RegExp | null} [name]
   * @param {object | null} [within] an element found before
   * @returns {Promise<object[]>} references to elements
   */
  async all(role, name = null, within = null) {
    if (!(await this.run(() => "axe" in window))) await this.#ask("POST", `${this.session}/execute/sync`, { script: AXE, args: [] });
    const wanted = name instanceof RegExp ? `/${name.source}/${name.flags}` : name;
    return /** @type {any} */ (await this.run(/** @type {any} */ (find), role, wanted, within));
  }

  /**
   * Waits for the first element of a role and name.
   * @param {string} role
   * @param {string | RegExp} [name]
   * @param {object | null} [within]
   */
  get(role, name, within = null) {
    return until(`a ${role} "${name ?? ""}"`, async () => (await this.all(role, name, within))[0]);
  }

  /**
   * Waits until there is none of a role and name.
   * @param {string} role
   * @param {string | RegExp} [name]
   */
  async gone(role, name) {
    try {
      await until(`no ${role} "${name ?? ""}"`, async () => (await this.all(role, name)).length === 0);
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : error}\nthe page shows:\n${await this.text()}`);
    }
  }

  /**
   * Clicks, as soon as there is something to click.
   * @param {string} role
   * @param {string | RegExp} name
   * @param {object | null} [within]
   */
  async click(role, name, within = null) {
    await until(`the ${role} "${name}" can be clicked`, async () => {
      const [element] = await this.all(role, name, within);
      if (element === undefined || (await this.run(disabled, element))) return false;
      // What still moves would be missed.
      if (!(await this.#rests(element))) return false;
      await this.clickOn(element);
      return true;
    });
  }

  /**
   * Whether an element stays where it is for two frames.
   * @param {object} element
   * @returns {Promise<boolean>}
   */
  #rests(element) {
    const script = `const [element, done] = arguments;
      const place = () => JSON.stringify(element.getBoundingClientRect());
      const before = place();
      requestAnimationFrame(() => requestAnimationFrame(() => done(place() === before)));`;
    return this.#ask("POST", `${this.session}/execute/async`, { script, args: [element] });
  }

  /**
   * Clicks an element found before.
   * @param {object} element
   */
  clickOn(element) {
    return this.#element(element, "click", {});
  }

  /**
   * Writes text into a field instead of what is there.
   * @param {string | RegExp} name
   * @param {string} text
   * @param {string} [role]
   */
  async fill(name, text, role = "textbox") {
    const field = await this.get(role, name);
    await this.#element(field, "clear", {});
    await this.#element(field, "value", { text });
  }

  /**
   * What a field holds.
   * @param {string | RegExp} name
   * @returns {Promise<string>}
   */
  async value(name) {
    return this.run((field) => /** @type {any} */ (field).value, await this.get("textbox", name));
  }

  /**
   * Keys, pressed one after the other; a chord is one string such as "Control+4".
   * @param {...string} keys
   */
  async press(...keys) {
    for (const chord of keys) {
      const codes = chord.split("+").map((key) => KEYS[key] ?? key);
      const down = codes.map((value) => ({ type: "keyDown", value }));
      const up = [...codes].reverse().map((value) => ({ type: "keyUp", value }));
      const actions = [{ type: "key", id: "keyboard", actions: [...down, ...up] }];
      await this.#ask("POST", `${this.session}/actions`, { actions });
    }
  }

  /**
   * The text that a user sees in an element, or in the whole page.
   * @param {object} [element]
   * @returns {Promise<string>}
   */
  text(element) {
    return this.run((found) => /** @type {HTMLElement} */ (found ?? document.body).innerText, element ?? null);
  }

  /**
   * Waits until the page shows a text that matches.
   * @param {RegExp} text
   * @param {number} [within] milliseconds
   */
  async shows(text, within) {
    let seen = "";
    try {
      return await until(`the page shows ${text}`, async () => text.exec((seen = await this.text())), within);
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : error}\nit shows:\n${seen}`);
    }
  }

  /**
   * @param {object} element
   * @param {string} what
   * @param {object} body
   */
  #element(element, what, body) {
    const reference = /** @type {Record<string, string>} */ (element)[ELEMENT];
    return this.#ask("POST", `${this.session}/element/${reference}/${what}`, body);
  }

  /** The picture of the page, as PNG. */
  async screenshot() {
    // The frame on screen may be the one before the last change.
    const frames = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))";
    await this.#ask("POST", `${this.session}/execute/async`, { script: frames, args: [] });
    return Buffer.from(await this.#ask("GET", `${this.session}/screenshot`), "base64");
  }
}

/** @type {Record<string, string>} */
const KEYS = {
  Enter: "\uE007",
  Escape: "\uE00C",
  Tab: "\uE004",
  Delete: "\uE017",
  Shift: "\uE008",
  Control: "\uE009",
  Alt: "\uE00A",
  ArrowUp: "\uE013",
  ArrowDown: "\uE015",
  Space: " ",
};

/**
 * Runs in the page.
 * @param {object} element
 */
function disabled(element) {
  const found = /** @type {Element} */ (element);
  return found.matches(":disabled") || found.getAttribute("aria-disabled") === "true";
}

/**
 * A port that nothing listens on.
 * @returns {Promise<number>}
 */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
