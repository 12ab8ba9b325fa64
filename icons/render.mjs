// Draws the PNGs from the SVGs beside it: the program's icon, and the tray's for dark and for light panels.
//     node icons/render.mjs [CHROMIUM]
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const folder = dirname(fileURLToPath(import.meta.url));
const PANELS = { dark: "#f4f6f7", light: "#2a3338" };

const browser = await chromium.launch({
  executablePath: process.argv[2] ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
const page = await browser.newPage();

async function draw(source, size, colour, target) {
  const svg = await readFile(join(folder, source), "utf8");
  await page.setViewportSize({ width: size, height: size });
  await page.setContent(
    `<style>body { margin: 0; color: ${colour} } svg { display: block; width: ${size}px; height: ${size}px }</style>${svg}`,
  );
  await page.screenshot({ path: join(folder, target), omitBackground: true });
}

for (const size of [32, 128, 256]) await draw("farhold.svg", size, "#000", `${size}x${size}.png`);
for (const state of ["idle", "connected", "transferring", "trouble"]) {
  for (const [panel, colour] of Object.entries(PANELS)) {
    for (const size of [24, 48]) await draw(`tray/${state}.svg`, size, colour, `tray/${state}-${panel}-${size}.png`);
  }
}
await browser.close();
