// Files that are dropped, pasted or passed on, and what the shell asks the user.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";

import { Browser } from "../support/browser.mjs";

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

/** @param {string} name */
const button = (name) => page.getByRole("button", { name, exact: true });

/** Nothing is wrong with what is open now, light and dark. */
async function accessible() {
  for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await tab.violations(), []);
  }
}

test("dropped files are shared with whom the user chooses", async () => {
  await tab.show("contacts");
  await tab.emit("dragging", { over: true, count: 2 });
  await page.getByText("Drop to share or send").waitFor();
  await page.getByText("2 items").waitFor();
  await accessible();
  await tab.emit("dragging", { over: false, count: 0 });
  const paths = ["/home/sam/Pictures/Aurora.jpg", "/home/sam/Documents/Offer.pdf"];
  await tab.emit("dropped", { paths });
  const dialog = page.getByRole("dialog", { name: "Share or send" });
  await dialog.waitFor();
  await page.getByText("Drop to share or send").waitFor({ state: "detached" });
  await dialog.getByText("Aurora.jpg").waitFor();
  await accessible();
  await dialog.getByRole("radio", { name: /^Anna/ }).check();
  await dialog.getByRole("switch", { name: /can change it$/ }).click();
  await button("Share with Anna Lindqvist").click();
  await dialog.waitFor({ state: "detached" });
  const [call] = await tab.calls("share");
  assert.deepEqual([call?.paths, call?.contact, call?.writable], [paths, "Anna Lindqvist", true]);
  await page.getByText("2 items are shared with Anna Lindqvist.").waitFor();
});

test("dropped files are sent", async () => {
  await tab.show("transfers");
  await tab.emit("dropped", { paths: ["/home/sam/Pictures/Aurora.jpg"] });
  const dialog = page.getByRole("dialog", { name: "Share or send" });
  await dialog.getByRole("radio", { name: /^Anna/ }).check();
  await dialog.getByRole("radio", { name: /^Send a copy/ }).check();
  await button("Send to Anna Lindqvist").click();
  await dialog.waitFor({ state: "detached" });
  assert.deepEqual(await tab.calls("push"), [{ paths: ["/home/sam/Pictures/Aurora.jpg"], contact: "Anna Lindqvist" }]);
});

test("pasted and passed on files open the same dialog; it is left without a trace", async () => {
  await tab.show("drive");
  const dialog = page.getByRole("dialog", { name: "Share or send" });
  await page.keyboard.press("Control+v");
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await tab.emit("opened", { paths: ["/home/sam/Pictures/Aurora.jpg"] });
  await dialog.waitFor();
  await button("Cancel").click();
  await dialog.waitFor({ state: "detached" });
  assert.deepEqual([await tab.calls("share"), await tab.calls("push")], [[], []]);
});

test("a refusal is shown where the user is, and trying again works", async () => {
  await tab.show("contacts");
  const message = "The disk is full. Make room, then try again.";
  await page.evaluate((text) => /** @type {any} */ (window).farholdMock.fail("share", { kind: "refused", message: text }), message);
  await tab.emit("dropped", { paths: ["/home/sam/Pictures/Aurora.jpg"] });
  const dialog = page.getByRole("dialog", { name: "Share or send" });
  await dialog.getByRole("radio", { name: /^Anna/ }).check();
  await button("Share with Anna Lindqvist").click();
  await dialog.getByText(message).waitFor();
  await accessible();
  await page.evaluate(() => /** @type {any} */ (window).farholdMock.fail("share", null));
  await button("Share with Anna Lindqvist").click();
  await dialog.waitFor({ state: "detached" });
});

test("closing without a tray asks", async () => {
  await tab.show("contacts");
  await tab.emit("ask-close", {});
  await page.getByRole("alertdialog", { name: "Keep Farhold running?" }).waitFor();
  await accessible();
  await button("Quit").click();
  assert.deepEqual(await tab.calls("close_window"), [{ how: "quit" }]);
});

test("what holds the drive is named before the window quits", async () => {
  await tab.show("contacts");
  await tab.emit("quit-held", { holders: [{ pid: 4711, program: "mpv", file: "Anna Lindqvist/Film.mp4" }] });
  const dialog = page.getByRole("alertdialog", { name: "The drive is in use" });
  await dialog.getByText("mpv").waitFor();
  await dialog.getByText("Anna Lindqvist/Film.mp4").waitFor();
  await accessible();
  await button("Quit anyway").click();
  assert.deepEqual(await tab.calls("quit"), [{ force: true }]);
});

test("a link fills in a code; one that is none is explained", async () => {
  await tab.show("drive");
  await tab.emit("link", { kind: "pair", text: "B".repeat(86) });
  const dialog = page.getByRole("dialog", { name: "Add a contact" });
  assert.equal(await dialog.getByRole("textbox", { name: "Their code" }).inputValue(), "B".repeat(86));
  await accessible();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await tab.emit("link", { kind: "unknown", text: "farhold://nonsense" });
  await page.getByText("This link is not one that Farhold knows.").waitFor();
});
