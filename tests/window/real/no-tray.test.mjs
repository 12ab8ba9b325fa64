// A desktop without a tray: a closed window could not be brought back, so closing asks.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Desktop } from "../support/desktop.mjs";
import { until } from "../support/until.mjs";
import { User } from "../support/window.mjs";

/** @type {Desktop} */
let desktop;
/** @type {import("../support/window.mjs").Window} */
let window;

before(async () => {
  desktop = await Desktop.open({ tray: false });
  window = await (await User.create(desktop, null)).open();
});
after(async () => {
  await window?.close();
  await desktop?.close();
});

test("closing asks, and the window stays", async () => {
  const { page } = window;
  await page.get("heading", "Contacts");
  await window.clickClose();
  await page.get("alertdialog", "Keep Farhold running?");
  await page.press("Escape");
  await page.gone("alertdialog");
  assert.notEqual(await window.shown(), null);
});

test("quit ends it, and nothing stays mounted", async () => {
  const { page } = window;
  await until("the drive is mounted", () => desktop.mounts().length > 0);
  await window.clickClose();
  await page.click("button", /^Quit/, await page.get("alertdialog", "Keep Farhold running?"));
  await window.ended();
  assert.deepEqual(desktop.mounts(), []);
});
