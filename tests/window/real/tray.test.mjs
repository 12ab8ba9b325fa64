// What the tray and further starts do with the window, until its end.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Desktop } from "../support/desktop.mjs";
import { Peer, pair, startRelay } from "../support/farhold.mjs";
import { until } from "../support/until.mjs";
import { User } from "../support/window.mjs";

/** @type {Desktop} */
let desktop;
/** @type {User} */
let anna;
/** @type {Peer} */
let ben;
/** @type {import("../support/window.mjs").Window} */
let window;

before(async () => {
  desktop = await Desktop.open();
  const relay = await startRelay(desktop);
  ben = await Peer.start(desktop, relay);
  anna = await User.create(desktop, relay);
  window = await anna.open();
  await pair(anna, ben);
});
after(async () => {
  await window?.close();
  await desktop?.close();
});

test("the tray's menu disconnects and connects, and its icon tells", async () => {
  const { tray } = desktop;
  await tray.shows(/^ben: connected$/);
  const connected = await until("the icon of a connection at rest", async () => {
    const picture = await tray.picture();
    const { wire } = await anna.ask("status");
    return wire.rate_in + wire.rate_out < 1000 && picture;
  });

  await tray.choose(/^ben: /, /^Disconnect$/);
  await anna.sessionIs("ben", "offline");
  await tray.shows(/^ben: (online|away)$/);
  await until("another icon", async () => (await tray.picture()) !== connected);
  await window.page.shows(/disconnected here/);

  await tray.choose(/^ben: /, /^Connect$/);
  await anna.sessionIs("ben", "connected");
  await tray.shows(/^ben: connected$/);
  await until("the icon of before", async () => (await tray.picture()) === connected);
  await window.page.shows(/\bben\b[^]*?\b(LAN|Direct|Punched|Relayed)\b/);
});

test("a closed window stays in the tray, and comes back from there", async () => {
  await window.clickClose();
  await until("the window is hidden", async () => (await window.shown()) === null);
  assert.equal(await anna.session("ben"), "connected");
  await desktop.tray.choose(/^Show window$/);
  await until("the window is shown", () => window.shown());
  await window.page.shows(/\bben\b/);
});

test("a second start raises the window and passes on links and files", async () => {
  const { page } = window;
  await window.clickClose();
  await until("the window is hidden", async () => (await window.shown()) === null);
  assert.deepEqual(await anna.start().wait(15_000), { code: 0, signal: null });
  await until("the window is shown", () => window.shown());

  await anna.start("farhold://pair/ABCD-EFGH").wait(15_000);
  await until("the link's code is filled in", async () => (await page.value(/code/i)) === "ABCD-EFGH");
  await page.press("Escape");
  await page.gone("dialog");

  const file = join(anna.home, "passed on.txt");
  await writeFile(file, "x");
  await anna.start(file).wait(15_000);
  const dialog = await page.get("dialog", "Share or send");
  assert.match(await page.text(dialog), /passed on\.txt/);
  await page.press("Escape");
  await page.gone("dialog");
  assert.equal((await anna.running()).length, 1);
});

test("quit names what holds a file of the drive, and ends within 10 s when told to", async () => {
  const { page } = window;
  const file = join(ben.folder, "held.txt");
  await writeFile(file, "held\n");
  await ben.ask("share", file, "--with", "anna");
  const path = join(anna.drive, "ben", "held.txt");
  const reader = await until("a program has the file open", async () => {
    const program = desktop.start("tail", ["-f", path]);
    return (await program.line(2_000)) === "held" && program;
  });

  await desktop.tray.choose(/^Quit$/);
  const dialog = await page.get("alertdialog", "The drive is in use");
  await until("the holder is named", async () => /\btail\b[^]*held\.txt/.test(await page.text(dialog)));
  assert.equal((await anna.running()).length, 1);
  await page.click("button", "Quit anyway", dialog);
  await window.ended();
  assert.deepEqual(desktop.mounts(), []);
  await until("the tray is empty", async () => (await desktop.tray.items()).length === 0);
  await reader.kill();
});
