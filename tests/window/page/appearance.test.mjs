// Languages, scale, the least window, reduced motion.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Browser, LEAST, VIEWS } from "../support/browser.mjs";

/** @type {Browser} */
let browser;
before(async () => {
  browser = await Browser.start();
});
after(() => browser?.close());

test("the system's language is spoken, and the one that is chosen", async () => {
  const tab = await browser.open({ locale: "de-DE" });
  const { page } = tab;
  await tab.show("contacts");
  await page.getByRole("heading", { level: 1, name: "Kontakte" }).waitFor();
  assert.equal(await page.locator("html").getAttribute("lang"), "de");
  await tab.show("contacts", "busy", { language: "en" });
  await page.getByRole("heading", { level: 1, name: "Contacts" }).waitFor();
  assert.equal(await page.locator("html").getAttribute("lang"), "en");
  await tab.close();
});

test("every view speaks German, and no name in the sidebar is cut", async () => {
  const tab = await browser.open({ locale: "de-DE" });
  const { page } = tab;
  for (const view of VIEWS) {
    await tab.show(view, "busy", { still: "" });
    await tab.settled("busy");
    const german = await page.locator("main").innerText();
    const cut = await page
      .locator("nav .label")
      .evaluateAll((labels) => labels.filter((label) => label.scrollWidth > label.clientWidth).map((label) => label.textContent));
    assert.deepEqual(cut, [], view);
    await tab.show(view, "busy", { still: "", language: "en" });
    await tab.settled("busy");
    assert.notEqual(await page.locator("main").innerText(), german, view);
  }
  assert.deepEqual(tab.errors, []);
  await tab.close();
});

for (const scale of [100, 200]) {
  test(`every view fits the least window at ${scale} %`, async () => {
    const tab = await browser.open({ viewport: LEAST });
    const { page } = tab;
    for (const view of VIEWS) {
      await tab.show(view, "busy", { still: "", scale: String(scale) });
      await tab.settled("busy");
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= LEAST.width, `${view} is ${width} px wide`);
      assert.deepEqual(await tab.violations(), [], view);
      // However much is above a list, it can be scrolled to.
      const row = page.locator("main [data-row]").first();
      if ((await row.count()) > 0) {
        await row.scrollIntoViewIfNeeded();
        const seen = await row.evaluate((element) => {
          const { left, top, width, height } = element.getBoundingClientRect();
          return element.contains(document.elementFromPoint(left + width / 2, top + height / 2));
        });
        assert.ok(seen, `the first row of ${view}`);
      }
    }
    assert.deepEqual(tab.errors, []);
    await tab.close();
  });
}

test("nothing moves by itself for those who do not want it", async () => {
  const tab = await browser.open({ reducedMotion: "reduce" });
  const { page } = tab;
  for (const scenario of ["busy", "loading"]) {
    for (const view of VIEWS) {
      await tab.show(view, scenario);
      await tab.settled(scenario);
      const moving = await page.evaluate(() =>
        document
          .getAnimations()
          .filter((animation) => animation.playState === "running" && Number(animation.effect?.getComputedTiming().activeDuration ?? 0) > 50)
          .map((animation) => {
            const effect = /** @type {KeyframeEffect | null} */ (animation.effect);
            return `${effect?.target?.outerHTML.slice(0, 80)} ${animation.constructor.name}`;
          }),
      );
      assert.deepEqual(moving, [], `${view}, ${scenario}`);
    }
  }
  await tab.close();

  // And it does for others, or this test would see nothing.
  const lively = await browser.open({ reducedMotion: "no-preference" });
  await lively.show("contacts", "loading");
  await lively.page.waitForFunction(() => document.getAnimations().some((animation) => animation.playState === "running"));
  await lively.close();
});
