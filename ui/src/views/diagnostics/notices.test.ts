import { expect, test } from "vitest";
import cargo from "../../../../Cargo.lock?raw";
import npm from "../../../../package-lock.json?raw";
import notices from "./notices.json";

// `node scripts/notices.mjs` writes the list anew.
test("every library that is named is one that is used, in that version", () => {
  const crates = new Set([...cargo.matchAll(/^name = "(.+)"\nversion = "(.+)"$/gm)].map(([, name, version]) => `${name} ${version}`));
  const modules = JSON.parse(npm).packages;
  for (const { name, version, licence, from } of notices) {
    const used = from === "npm" ? modules[`node_modules/${name}`]?.version === version : crates.has(`${name} ${version}`);
    expect(used, `${name} ${version}`).toBe(true);
    expect(licence, name).not.toBe("");
  }
});

test("the main parts are named", () => {
  const names = new Set(notices.map(({ name }) => name));
  for (const part of ["svelte", "@tauri-apps/api", "tokio", "aes-gcm", "fuser"]) {
    expect(names, part).toContain(part);
  }
});
