// Two people, one story: anna has the window, ben an engine; they pair, share, send and read.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Desktop } from "../support/desktop.mjs";
import { Peer, startRelay } from "../support/farhold.mjs";
import { Drag, copy } from "../support/files.mjs";
import { until } from "../support/until.mjs";
import { User } from "../support/window.mjs";

/** Large enough that most of it is not fetched when some of it is read. */
const LARGE = 64 << 20;

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
  window = await anna.open(`farhold://pair/${await ben.code()}`);
});
after(async () => {
  await window?.close();
  await desktop?.close();
});

test("a link fills in the code of a new contact, and codes pair", async () => {
  const { page } = window;
  const dialog = await page.get("dialog", "Add a contact");
  const [mine, theirs] = [await anna.code(), await ben.code()];
  await until("the code of the link is filled in", async () => (await page.value("Their code")) === theirs);
  await page.shows(new RegExp(mine));
  await page.fill("Name", "ben");
  await page.click("button", "Add", dialog);
  await page.shows(/Waiting for ben/);

  await ben.ask("contact", "add", "anna", mine);
  await anna.sessionIs("ben", "connected");
  await page.shows(/You are paired with ben/);
  await page.click("button", "Done");
  await page.gone("dialog");
  await page.shows(/\bben\b[^]*?\b(LAN|Direct|Punched|Relayed)\b/);
});

test("files and folders that are dropped on the window are shared", async () => {
  const { page } = window;
  const folder = join(anna.home, "Urlaub ü #1");
  await mkdir(join(folder, "below"), { recursive: true });
  await writeFile(join(folder, "below", "100 %.txt"), "in a folder");
  const file = join(anna.home, "a file.txt");
  await writeFile(file, "alone");

  const drag = await Drag.start(desktop, [folder, file], await window.place());
  await page.shows(/Drop to share or send/);
  await drag.drop();
  await page.get("dialog", "Share or send");
  await page.click("button", "Share with ben");
  await page.gone("dialog");

  await until("ben sees both", async () => {
    const names = (await ben.ask("ls", "anna")).entries.map((/** @type {{ name: string }} */ entry) => entry.name);
    return names.includes("a file.txt") && names.includes("Urlaub ü #1");
  });
  const copies = join(ben.folder, "copies");
  await mkdir(copies);
  await ben.ask("pull", "anna/Urlaub ü #1", copies, "--wait");
  assert.equal(await readFile(join(copies, "Urlaub ü #1/below/100 %.txt"), "utf8"), "in a folder");

  await window.go("shares");
  await page.shows(/a file\.txt/);
});

test("files that leave the window again are not shared", async () => {
  const { page } = window;
  const drag = await Drag.start(desktop, [join(anna.home, "a file.txt")], await window.place());
  await page.shows(/Drop to share or send/);
  await drag.over({ x: 1300, y: 100 });
  await until("the page forgets the files", async () => !/Drop to share or send/.test(await page.text()));
  await drag.drop();
  assert.deepEqual(await page.all("dialog"), []);
});

test("pasted files are sent", async () => {
  const { page } = window;
  const folder = join(ben.folder, "received");
  await mkdir(folder);
  await ben.ask("accept", "anna", folder);
  const file = join(anna.home, "letter.txt");
  await writeFile(file, "a letter");

  const clipboard = await copy(desktop, [file]);
  await page.press("Control+v");
  const dialog = await page.get("dialog", "Share or send");
  await page.click("radio", /^Send a copy/, dialog);
  await page.click("button", "Send to ben", dialog);
  await page.gone("dialog");
  await clipboard.stop();
  await until("the letter has arrived", async () => (await readFile(join(folder, "letter.txt"), "utf8")) === "a letter");
  await window.go("transfers");
  await page.shows(/letter\.txt[^]*Done/);
});

test("the drive shows what ben shares, and programs read it; seek and cache views tell of it", async () => {
  const { page } = window;
  const content = randomBytes(LARGE);
  await writeFile(join(ben.folder, "film.mkv"), content);
  await ben.ask("share", join(ben.folder, "film.mkv"), "--with", "anna");

  await window.go("drive");
  await page.get("row", /ben/);
  const path = join(anna.drive, "ben", "film.mkv");
  const file = await until("the drive has the file", () => open(path));
  try {
    await window.go("cache");
    await page.shows(/film\.mkv/);
    const seeks = async () => (await anna.ask("status")).seek.idle.count;
    const before = await seeks();
    const piece = Buffer.alloc(4096);
    for (const part of [0.1, 0.9, 0.5, 0.3, 0.7]) {
      const at = Math.floor(LARGE * part);
      await file.read(piece, 0, piece.length, at);
      assert.deepEqual(piece, content.subarray(at, at + piece.length));
    }
    await until("seeks were counted", async () => (await seeks()) > before);
    await page.shows(/film\.mkv: [\d.]+\s\w+ of [\d.]+\s\w+ here/);

    await window.go("performance");
    const row = await page.get("row", /Seek, idle/);
    await until("the seeks are shown", async () => {
      const count = Number(/(\d+)\s*$/.exec(await page.text(row))?.[1]);
      return count === (await seeks());
    });
  } finally {
    await file.close();
  }
  assert.deepEqual(await readFile(path), content);
  await window.go("cache");
  await page.shows(/No file of the drive is open/);
});
