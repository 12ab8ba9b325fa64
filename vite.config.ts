import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

// `--mode mock` builds the page with a backend of its own (ui/src/ipc/mock), to develop and test it without the shell.
export default defineConfig(({ mode }) => ({
  root: "ui",
  // Relative: the shell serves the page from a scheme of its own.
  base: "./",
  plugins: [svelte({ configFile: "../svelte.config.js" })],
  build: {
    outDir: mode === "mock" ? "dist-mock" : "dist",
    emptyOutDir: true,
    // What the oldest WebKitGTK of a supported system (2.40) understands.
    target: "safari16.4",
    chunkSizeWarningLimit: 1000,
  },
  // The icon is beside the page's folder.
  server: { host: "127.0.0.1", port: 1420, strictPort: true, fs: { allow: [".."] } },
  test: {
    root: ".",
    include: ["ui/src/**/*.test.ts", "ui/tests/**/*.test.ts"],
    environment: "node",
    // The colours' contrasts are read from the style sheet.
    css: { include: /tokens\.css/ },
  },
}));
