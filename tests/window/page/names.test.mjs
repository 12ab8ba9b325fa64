// Names that others chose are text and nothing else, and are shown as what they are.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Browser, LEAST } from "../support/browser.mjs";

/** @type {Browser} */
let browser;
before(async () => {
  browser = await Browser.start();
});
after(() => browser?.close());

/** With a U+202E before "gpj.exe", "exe.jpg" is read. */
const TURNED = "invoice\u202Egpj.exe";
const MARKUP = "<img src=x onerror=alert(1)>\nsecond line";
const LONG = `${"long ".repeat(20)}${"x".repeat(155)}`;

const offer = (/** @type {number} */ id, /** @type {string} */ name) => ({
  id,
  direction: "receive",
  contact: "Anna Lindqvist",
  name,
  state: "offered",
  reason: null,
  filesDone: 0,
  files: 2,
  bytesDone: 0,
  bytes: 1_000,
  rate: 0,
  remainingSeconds: null,
  destination: null,
  destinationDisplay: null,
});

test("what a contact offers may be called anything", async () => {
  const tab = await browser.open({ viewport: LEAST });
  const { page } = tab;
  await tab.show("transfers", "empty");
  await tab.emit("transfers", { changed: [offer(1, TURNED), offer(2, MARKUP), offer(3, LONG)], removed: [] });
  const names = page.getByRole("grid", { name: "Transfers" }).locator(".name");
  await names.nth(2).waitFor();
  assert.deepEqual(await names.allTextContents(), ["invoice\uFFFDgpj.exe", "<img src=x onerror=alert(1)>\uFFFDsecond line", LONG]);
  assert.equal(await page.locator("main img").count(), 0);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= LEAST.width);

  // Accepting one names it in a dialog, which keeps its buttons in sight.
  await page.getByRole("button", { name: "Accept…" }).last().click();
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  for (const name of ["Cancel", "Accept"]) {
    const box = await dialog.getByRole("button", { name, exact: true }).boundingBox();
    assert.ok(box !== null && box.y + box.height <= LEAST.height && box.x + box.width <= LEAST.width, name);
  }
  assert.deepEqual(tab.errors, []);
  await tab.close();
});
