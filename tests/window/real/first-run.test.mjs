// From nothing to a mounted drive, and to a window that starts with the desktop.

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";

import { Desktop } from "../support/desktop.mjs";
import { until } from "../support/until.mjs";
import { User } from "../support/window.mjs";

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

test("a newcomer meets the demo, whose files can be read", async () => {
  const user = await User.newcomer(desktop);
  window = await user.open();
  const { page } = window;
  await page.click("button", /demo/i);
  await page.shows(/\bdemo\b\s+Connected/);
  const sample = await until("the demo's sample is there", async () => {
    for (const point of desktop.mounts()) {
      const names = await readdir(join(point, "demo", "Sample"));
      if (names.length > 0) return names;
    }
    return null;
  });
  await window.go("drive");
  await page.shows(/Mounted at .*farhold-demo/);
  await page.get("row", /demo/);
  assert.ok(sample.length > 0);
});

test("it starts with the desktop when told to, hidden", async () => {
  const user = await User.create(desktop, null);
  window = await user.open();
  const { page } = window;
  await window.go("settings");
  await page.click("switch", /^Start with the desktop/);
  const file = join(user.home, ".config/autostart/org.farhold.Farhold.desktop");
  const entry = await until("the desktop's entry", () => readFile(file, "utf8"));
  await window.close();
  window = null;

  const command = /^Exec=(.*)$/m.exec(entry)?.[1] ?? "";
  const [program, ...args] = [...command.matchAll(/"([^"]*)"/g)].map((match) => match[1] ?? "");
  assert.ok(program);
  const started = desktop.start(program, args, { env: user.env });
  await desktop.tray.shows(/^No contacts yet$/);
  await until("its engine runs", async () => (await user.command("status")).code === 0);
  assert.equal(await user.shown(), null);
  await user.start().wait(15_000);
  await until("a further start shows the window", () => user.shown());
  assert.equal((await started.stop()).code, 0);
  assert.deepEqual(desktop.mounts(), []);
});
