// Every view in every state: it shows itself, nothing goes wrong, and axe-core finds nothing.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Browser, SCENARIOS, VIEWS } from "../support/browser.mjs";

/** @type {Browser} */
let browser;
before(async () => {
  browser = await Browser.start();
});
after(() => browser?.close());

for (const scenario of SCENARIOS) {
  test(`views: ${scenario}`, async (context) => {
    for (const view of VIEWS) {
      await context.test(view, { timeout: 30_000 }, async () => {
        const tab = await browser.open();
        await tab.show(view, scenario);
        await tab.settled(scenario);
        for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
          await tab.page.emulateMedia({ colorScheme });
          assert.deepEqual(await tab.violations(), [], colorScheme);
        }
        assert.deepEqual(tab.errors, []);
        await tab.close();
      });
    }
  });
}
