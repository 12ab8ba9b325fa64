import { mount, type Component } from "svelte";
import App from "./App.svelte";
import "./design/base.css";
import { applyAppearance } from "./frame/appearance";
import * as ipc from "./ipc";
import { useBackend } from "./ipc/backend";
import { connectStores } from "./state/connect";
import { router } from "./state/router.svelte";
import { toasts } from "./state/toasts.svelte";

/** The window's page; in mock mode also the sheet of all components, by `?sheet`. */
async function page(): Promise<Component> {
  if (import.meta.env.MODE === "mock" && new URLSearchParams(location.search).has("sheet")) {
    return (await import("./sheet/Sheet.svelte")).default;
  }
  return App;
}

async function start(): Promise<void> {
  if (import.meta.env.MODE === "mock") {
    useBackend((await import("./ipc/mock")).mock(new URLSearchParams(location.search)));
  } else {
    useBackend((await import("./ipc/tauri")).tauri);
  }
  applyAppearance(null);
  router.start();
  const target = document.getElementById("app");
  if (!target) throw new Error("the page has no #app");
  mount(await page(), { target });
  // Two frames: the first is scheduled before the paint, the second comes after it.
  requestAnimationFrame(() => requestAnimationFrame(() => ipc.painted().catch((error) => toasts.failure(error))));
  await connectStores();
}

start().catch((error) => toasts.failure(error));
