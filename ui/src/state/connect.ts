// Feeds the stores from the shell: subscribes first, then reads what is, so that nothing is missed in between.
import * as ipc from "../ipc";
import type { TransferChanges } from "../ipc";
import { app } from "./app.svelte";
import { preferences } from "./preferences.svelte";
import { router } from "./router.svelte";
import { toasts } from "./toasts.svelte";
import { transfers } from "./transfers.svelte";

/** Changes that came while the whole list was under way. */
let early: TransferChanges[] | null = null;

/** Reads all transfers. A change from before the answer is applied after it: changes carry whole transfers and come in
 * order, so an old one is followed by the newer one. */
async function readTransfers(): Promise<void> {
  const meanwhile: TransferChanges[] = [];
  early = meanwhile;
  try {
    const all = await ipc.transfers();
    // The engine has started again meanwhile, and they are being read again.
    if (early !== meanwhile) return;
    transfers.reset(all);
    for (const changes of meanwhile) transfers.apply(changes);
  } catch (error) {
    // Without an engine there is no list; it is read when the engine runs.
    if (ipc.failure(error).kind !== "notRunning") throw error;
  } finally {
    if (early === meanwhile) early = null;
  }
}

function take(state: ipc.State): void {
  const ran = app.running;
  app.set(state);
  if (app.running && !ran) readTransfers().catch((error) => toasts.failure(error));
}

export async function connectStores(): Promise<void> {
  // Every change is told, so what was told while the first answer was under way is at least as new as that.
  let told = false;
  await Promise.all([
    ipc.on.state((state) => {
      told = true;
      take(state);
    }),
    ipc.on.transfers((changes) => (early ? void early.push(changes) : transfers.apply(changes))),
    ipc.on.showView(({ view }) => router.goByName(view)),
  ]);
  await Promise.all([preferences.load(), ipc.state().then((state) => void (told || take(state)))]);
}
