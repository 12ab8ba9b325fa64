// The main flows by keyboard alone: no test here uses the pointer.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";

import { Browser, VIEWS } from "../support/browser.mjs";

const CODE = "A".repeat(86);

/** @type {Browser} */
let browser;
/** @type {import("../support/browser.mjs").Tab} */
let tab;
/** @type {import("playwright-core").Page} */
let page;

before(async () => {
  browser = await Browser.start();
});
after(() => browser?.close());
beforeEach(async () => {
  tab = await browser.open();
  page = tab.page;
});
afterEach(async () => {
  assert.deepEqual(tab.errors, []);
  await tab.close();
});

/** @param {...string} keys */
async function press(...keys) {
  for (const key of keys) await page.keyboard.press(key);
}

/**
 * Tab until a control of that role and name has the focus; one that Tab does not reach is an error.
 * @param {"button" | "textbox" | "switch" | "tab" | "searchbox" | "grid" | "listbox" | "radio"} role
 * @param {string | RegExp} name
 */
async function reach(role, name) {
  const control = page.getByRole(role, { name, exact: typeof name === "string" }).first();
  await control.waitFor();
  for (let presses = 0; presses < 80; presses++) {
    if (await control.evaluate((element) => element === document.activeElement)) return control;
    await press("Tab");
  }
  throw new Error(`Tab does not reach the ${role} ${name}`);
}

test("Ctrl and a digit go to each view, wherever the focus is", async () => {
  await tab.show("contacts");
  for (const [index, view] of VIEWS.entries()) {
    await press(`Control+${index + 1}`);
    await page.waitForFunction((name) => location.hash.startsWith(`#${name}`), view);
    await page.locator('nav button[aria-current="page"]').waitFor();
  }
});

test("a contact is added by codes", async () => {
  await tab.show("contacts", "empty");
  await press("Control+n");
  await page.getByRole("dialog", { name: "Add a contact" }).waitFor();
  await reach("textbox", "Their code");
  await page.keyboard.type(CODE);
  await reach("textbox", "Name");
  await page.keyboard.type("Greta");
  await press("Enter");
  await page.getByText("Waiting for Greta").waitFor();
  assert.deepEqual(await tab.calls("add_contact"), [{ name: "Greta", code: CODE }]);
  await reach("button", "Done");
  await press("Enter");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("main").getByText("Greta").first().waitFor();
});

test("a contact is disconnected from its menu, and removed after a question", async () => {
  await tab.show("contacts");
  await reach("grid", "Contacts");
  await press("Home", "Shift+F10");
  await page.getByRole("menuitem", { name: "Disconnect" }).waitFor();
  await press("End", "Escape");
  await page.getByRole("menu").waitFor({ state: "detached" });
  await press("Shift+F10");
  for (let presses = 0; presses < 10; presses++) {
    const chosen = await page.evaluate(() => document.activeElement?.textContent?.trim());
    if (chosen === "Disconnect") break;
    await press("ArrowDown");
  }
  await press("Enter");
  await page.getByRole("row", { name: /^Anna.*Connect: Anna/ }).waitFor();
  assert.deepEqual(await tab.calls("disconnect"), [{ name: "Anna Lindqvist" }]);

  await press("Delete");
  const ask = page.getByRole("alertdialog").or(page.getByRole("dialog"));
  await ask.waitFor();
  await press("Escape");
  await ask.waitFor({ state: "detached" });
  assert.deepEqual(await tab.calls("remove_contact"), []);
  await press("Delete");
  await ask.waitFor();
  await reach("button", /^Remove/);
  await press("Enter");
  await ask.waitFor({ state: "detached" });
  assert.deepEqual(await tab.calls("remove_contact"), [{ name: "Anna Lindqvist" }]);
});

test("the drive is walked, filtered and pinned from", async () => {
  await tab.show("drive");
  await reach("grid", /Entries/);
  await press("Home", "Enter");
  const crumbs = page.getByRole("navigation", { name: "Where you are" });
  await crumbs.getByText(/Anna/).waitFor();
  await page.getByRole("grid").getByRole("row").nth(1).waitFor();

  await press("/");
  const filter = page.getByRole("searchbox");
  assert.ok(await filter.evaluate((field) => field === document.activeElement));
  await page.keyboard.type("zzz");
  await page.getByText("Nothing matches “zzz”").waitFor();
  await filter.press("Control+a");
  await press("Delete");

  await reach("grid", /Entries/);
  await press("End", "Shift+F10");
  const menu = page.getByRole("menu");
  await menu.waitFor();
  await press("Escape");
  await press("Backspace");
  await page.waitForFunction(() => document.querySelector("[aria-busy=true]") === null);
});

test("a transfer is paused, resumed and cancelled", async () => {
  await tab.show("transfers");
  await reach("grid", "Transfers");
  await press("Home");
  await press("Delete");
  const ask = page.getByRole("alertdialog").or(page.getByRole("dialog"));
  if ((await tab.calls("decline_offer")).length === 0) {
    await ask.waitFor();
    await press("Escape");
    await ask.waitFor({ state: "detached" });
    // The focus is where it was.
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("role")), "grid");
  }
  await reach("button", "Pause all");
  await press("Enter");
  await page.getByRole("button", { name: "Resume all" }).waitFor();
  assert.equal((await tab.calls("pause_all")).length, 1);
});

test("settings are changed and saved", async () => {
  await tab.show("settings");
  const relay = await reach("textbox", /^Relay/);
  await press("Control+a");
  await page.keyboard.type("nonsense relay");
  await page.getByText("This is no address. Write it like relay.example:7480.").waitFor();
  await relay.press("Control+a");
  await page.keyboard.type("other.example:7480");
  await reach("button", "Save");
  await press("Enter");
  await page.getByText("The settings are saved.").waitFor();
  assert.equal((await tab.calls("set_settings"))[0]?.settings.relay, "other.example:7480");

  await reach("switch", /^Start with the desktop/);
  await press("Space");
  await page.waitForFunction(() => /** @type {any} */ (window).farholdMock.calls.some((/** @type {any} */ call) => call.command === "set_preferences"));
  assert.equal((await tab.calls("set_preferences"))[0]?.preferences.autostart, true);
});

test("the first run goes from nothing to the window", async () => {
  await tab.show("contacts", "firstrun");
  await reach("button", "Set up");
  await press("Enter");
  await reach("textbox", "Address of the relay");
  await page.keyboard.type("relay.example.org:7480");
  await reach("button", "Continue");
  await press("Enter");
  await page.getByRole("heading", { name: "Your drive" }).waitFor();
  if (await page.getByRole("button", { name: "Mount the drive" }).isVisible()) {
    await reach("button", "Mount the drive");
    await press("Enter");
  }
  await page.getByText("The drive is there.").waitFor();
  await reach("button", "Continue");
  await press("Enter");
  await page.getByRole("heading", { name: "Somebody to share with" }).waitFor();
  await reach("button", "Open Farhold");
  await press("Enter");
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  const kept = (await tab.calls("set_preferences")).at(-1);
  assert.equal(kept?.preferences.firstRunDone, true);
});

test("nothing takes the focus away for good: Escape closes what opened", async () => {
  await tab.show("contacts");
  await press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  assert.deepEqual(await tab.violations(), []);
  await press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});
