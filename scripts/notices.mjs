#!/usr/bin/env node
// Writes the libraries that the programs and the window are built with, and their licences, for the window's "About":
// ui/src/views/diagnostics/notices.json. To be run when dependencies have changed.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const OUR = /^farhold-/;
const PLATFORM = "x86_64-unknown-linux-gnu";
/** Those of the page that end up in what is shipped. */
const NPM = ["svelte", "@tauri-apps/api"];

const metadata = JSON.parse(
  execFileSync("cargo", ["metadata", "--locked", "--filter-platform", PLATFORM, "--format-version", "1"], { maxBuffer: 1 << 28 }),
);
const packages = new Map(metadata.packages.map((one) => [one.id, one]));
const nodes = new Map(metadata.resolve.nodes.map((one) => [one.id, one]));

// What only tests, build scripts or procedural macros need is in no program, but a macro's output is: it stays in.
const shipped = new Set();
const visit = (id) => {
  if (shipped.has(id)) return;
  shipped.add(id);
  for (const { pkg, dep_kinds: kinds } of nodes.get(id).deps) {
    if (kinds.some(({ kind }) => kind === null)) visit(pkg);
  }
};
for (const id of metadata.workspace_members) {
  if (["farhold-app", "farhold-cli", "farhold-relay"].includes(packages.get(id).name)) visit(id);
}
const crates = [...shipped]
  .map((id) => packages.get(id))
  .filter(({ name }) => !OUR.test(name))
  .map(({ name, version, license }) => ({ name, version, licence: license ?? "see its licence file", from: "cargo" }));
const modules = NPM.map((name) => {
  const { version, license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
  return { name, version, licence: license, from: "npm" };
});
const order = (a, b) => a.name.localeCompare(b.name, "en") || a.version.localeCompare(b.version, "en");
const lines = [...crates, ...modules].sort(order).map((one) => `  ${JSON.stringify(one)}`);
writeFileSync("ui/src/views/diagnostics/notices.json", `[\n${lines.join(",\n")}\n]\n`);
