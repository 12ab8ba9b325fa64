// Pictures of every view, light and dark, at 100 and 200 %, and of the real window: `node screenshots.mjs FOLDER`.

import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { Browser, VIEWS } from "./support/browser.mjs";
import { Desktop } from "./support/desktop.mjs";
import { Peer, pair, startRelay } from "./support/farhold.mjs";
import { until } from "./support/until.mjs";
import { User } from "./support/window.mjs";

const folder = resolve(process.argv[2] ?? "screenshots");
await mkdir(folder, { recursive: true });

/** View, or what is shown instead of one, and its scenario. */
const PICTURES = [
  ...VIEWS.map((view) => ({ name: view, view, scenario: "busy" })),
  { name: "start", view: "contacts", scenario: "firstrun" },
  { name: "contacts-empty", view: "contacts", scenario: "empty" },
  { name: "drive-empty", view: "drive", scenario: "empty" },
  { name: "contacts-offline", view: "contacts", scenario: "offline" },
  { name: "drive-failed", view: "drive", scenario: "failed" },
];

async function pages() {
  const browser = await Browser.start();
  try {
    const tab = await browser.open();
    for (const { name, view, scenario } of PICTURES) {
      for (const theme of ["light", "dark"]) {
        for (const scale of ["100", "200"]) {
          await tab.show(view, scenario, { theme, scale, still: "" });
          await tab.settled(scenario);
          await tab.page.screenshot({ path: join(folder, `${name}-${theme}-${scale}.png`) });
        }
      }
    }
    await tab.show("contacts", "busy", { theme: "light", still: "" });
    await tab.emit("dragging", { over: true, count: 3 });
    await tab.page.screenshot({ path: join(folder, "drop-over.png") });
    await tab.emit("dropped", { paths: ["/home/sam/Pictures/Aurora.jpg", "/home/sam/Documents/Offer.pdf"] });
    await tab.page.getByRole("dialog", { name: "Share or send" }).waitFor();
    await tab.page.screenshot({ path: join(folder, "drop-dialog.png") });
  } finally {
    await browser.close();
  }
}

async function real() {
  const desktop = await Desktop.open();
  try {
    const relay = await startRelay(desktop);
    const ben = await Peer.start(desktop, relay);
    const anna = await User.create(desktop, relay);
    const window = await anna.open();
    await pair(anna, ben);
    await writeFile(join(ben.folder, "Report.pdf"), Buffer.alloc(3_000_000));
    await ben.ask("share", join(ben.folder, "Report.pdf"), "--with", "anna");
    await until("ben's file is seen", async () => (await anna.ask("ls", "ben")).entries.length > 0);
    for (const view of VIEWS) {
      await window.go(view);
      await writeFile(join(folder, `window-${view}.png`), await window.page.screenshot());
    }
    await window.close();
  } finally {
    await desktop.close();
  }
}

await pages();
await real();
