// Trouble with the engine is shown, and a restart mends it.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { Desktop } from "../support/desktop.mjs";
import { startEngine } from "../support/farhold.mjs";
import { until } from "../support/until.mjs";
import { User, settings } from "../support/window.mjs";

/** @type {Desktop} */
let desktop;
/** @type {import("../support/window.mjs").Window | null} */
let window;

before(async () => {
  desktop = await Desktop.open();
});
afterEach(async () => {
  await window?.close();
  window = null;
});
after(() => desktop?.close());

test("damaged settings are named; once they are mended, the engine starts again", async () => {
  const user = await User.create(desktop, null);
  await user.write("settings.json", "{ damaged");
  window = await user.open();
  await window.page.shows(/settings\.json is damaged/);
  await desktop.tray.shows(/^The engine is not running$/);

  await user.write("settings.json", settings(null));
  await window.page.click("button", /^(Restart|Start|Try)/);
  await until("the engine runs", async () => (await user.command("status")).code === 0);
  await desktop.tray.shows(/^No contacts yet$/);
  await until("the trouble is gone", async () => !/damaged/.test((await window?.page.text()) ?? ""));
});

test("an engine that is killed while the window shows it is missed, and started again", async () => {
  const user = await User.create(desktop, null);
  const engine = startEngine(user, "--no-mount");
  await engine.line();
  window = await user.open();
  await window.go("diagnostics");
  await window.page.shows(/in a process of its own/);

  await engine.kill();
  await window.page.shows(/engine was stopped|not running/i);
  await desktop.tray.choose(/^Restart the engine$/);
  await window.page.shows(/in this window/);
  assert.equal((await user.command("status")).code, 0);
});
