// Feeds the stores from the shell: subscribes first, then reads what is, so that nothing is missed in between.
import * as ipc from "../ipc";
import { app } from "./app.svelte";
import { preferences } from "./preferences.svelte";
import { router } from "./router.svelte";
import { transfers } from "./transfers.svelte";

export async function connectStores(): Promise<void> {
  // A delta from before the snapshot's answer is applied after it. Deltas carry whole transfers and come in order, so
  // an old one is followed by the newer one.
  let early: ipc.TransferChanges[] | null = [];
  await Promise.all([
    ipc.on.state((state) => app.set(state)),
    ipc.on.transfers((changes) => (early ? early.push(changes) : transfers.apply(changes))),
    ipc.on.showView(({ view }) => router.goByName(view)),
  ]);
  await Promise.all([
    preferences.load(),
    ipc.state().then((state) => app.set(state)),
    ipc.transfers().then((all) => {
      transfers.reset(all);
      for (const changes of early ?? []) transfers.apply(changes);
      early = null;
    }),
  ]);
}
