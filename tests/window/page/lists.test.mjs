// Lists of any length: what is in the page is what can be seen, and time does not fill the page or the event queue.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Browser } from "../support/browser.mjs";

/** No list may put more rows than these into the page, in a window of 720 px. */
const ROWS = 60;

/** @type {Browser} */
let browser;
before(async () => {
  browser = await Browser.start();
});
after(() => browser?.close());

/** @param {import("../support/browser.mjs").Tab} tab */
const rows = (tab) => tab.page.locator("[data-row]").count();

test("100,000 entries: few rows are in the page, wherever it is scrolled", async () => {
  const tab = await browser.open();
  const { page } = tab;
  await tab.show("drive", "many");
  await page.getByRole("grid").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  const large = page.getByRole("row", { name: /Archive/ });
  await large.waitFor();
  await large.dblclick();
  await page.getByText(/100,000 entries/).waitFor();
  assert.ok((await rows(tab)) <= ROWS);

  const first = await page.locator("[data-row]").first().textContent();
  await page.getByRole("grid").focus();
  await page.keyboard.press("End");
  await page.locator('[data-row="99999"]').waitFor();
  assert.ok((await rows(tab)) <= ROWS);
  assert.notEqual(await page.locator("[data-row]").first().textContent(), first);

  await page.keyboard.press("/");
  await page.keyboard.type("99");
  // Rows of other names leave.
  await page.waitForFunction(() => [...document.querySelectorAll("[data-row]")].every((row) => /99/.test(row.textContent ?? "")));
  assert.ok((await rows(tab)) <= ROWS);
  assert.deepEqual(tab.errors, []);
  await tab.close();
});

test("10,000 transfers: few rows are in the page, and a change draws only what it changes", async () => {
  const tab = await browser.open();
  const { page } = tab;
  await tab.show("transfers", "many", { still: "" });
  await page.getByRole("grid", { name: "Transfers" }).waitFor();
  assert.ok((await rows(tab)) <= ROWS);

  const transfer = {
    id: 20_000,
    direction: "pull",
    contact: "Anna Lindqvist",
    name: "fresh.bin",
    state: "running",
    reason: null,
    filesDone: 0,
    files: 1,
    bytes: 20_000_000,
    remainingSeconds: 9,
    destination: null,
    destinationDisplay: null,
  };
  const tell = (/** @type {number} */ bytesDone) => tab.emit("transfers", { changed: [{ ...transfer, bytesDone, rate: bytesDone }], removed: [] });
  await tell(0);
  await page.getByRole("row", { name: /fresh\.bin/ }).waitFor();
  // From now on it only progresses: its row changes, and no row comes or goes.
  await page.evaluate(() => {
    const counting = /** @type {any} */ (window);
    counting.rowsMade = 0;
    const list = document.querySelector('[role="grid"]');
    const isRow = (/** @type {Node} */ node) => node instanceof Element && node.matches("[data-row]");
    const count = (/** @type {MutationRecord[]} */ changes) => {
      for (const change of changes) counting.rowsMade += [...change.addedNodes].filter(isRow).length;
    };
    if (list) new MutationObserver(count).observe(list, { subtree: true, childList: true });
  });
  for (let step = 1; step <= 19; step++) await tell(step * 1_000_000);
  await page.getByRole("row", { name: /fresh\.bin.*19\.0\s+MB of 20\.0\s+MB/ }).waitFor();
  assert.equal(await page.evaluate(() => /** @type {any} */ (window).rowsMade), 0);
  assert.ok((await rows(tab)) <= ROWS);

  await tab.emit("transfers", { changed: [], removed: [transfer.id] });
  await page.getByRole("grid", { name: "Transfers" }).press("End");
  assert.ok((await rows(tab)) <= ROWS);
  assert.deepEqual(tab.errors, []);
  await tab.close();
});

test("deltas of transfers are applied: changed, added, removed", async () => {
  const tab = await browser.open();
  const { page } = tab;
  await tab.show("transfers", "busy", { still: "" });
  const base = { id: 77_777, direction: "receive", contact: "Anna Lindqvist", reason: null, filesDone: 0, files: 1, bytes: 2_000_000, rate: 0, remainingSeconds: null, destination: null, destinationDisplay: null };
  const row = page.getByRole("row", { name: /delta\.bin/ });
  await tab.emit("transfers", { changed: [{ ...base, name: "delta.bin", state: "running", bytesDone: 500_000, rate: 1_000_000 }], removed: [] });
  await row.getByText(/500\s+kB of 2\.00\s+MB/).waitFor();
  await tab.emit("transfers", { changed: [{ ...base, name: "delta.bin", state: "failed", bytesDone: 500_000, reason: "The disk is full. Make room, then retry." }], removed: [] });
  await row.getByText(/The disk is full/).waitFor();
  await tab.emit("transfers", { changed: [], removed: [base.id] });
  await row.waitFor({ state: "detached" });
  assert.deepEqual(tab.errors, []);
  await tab.close();
});

test("a view that is left forgets its subscriptions, and coming back does not add any", async () => {
  const tab = await browser.open();
  const { page } = tab;
  await tab.show("cache");
  const elements = () => page.evaluate(() => document.querySelectorAll("*").length);
  for (let round = 0; round < 20; round++) {
    await page.keyboard.press("Control+5");
    await page.getByRole("heading", { level: 1, name: "Performance" }).waitFor();
    await page.keyboard.press("Control+6");
    await page.getByRole("heading", { level: 1, name: "Cache" }).waitFor();
  }
  const [watched, unwatched] = [await tab.calls("watch_open_files"), await tab.calls("unwatch_open_files")];
  assert.equal(watched.length - unwatched.length, 1);
  assert.ok((await elements()) < 3_000);
  assert.deepEqual(tab.errors, []);
  await tab.close();
});
