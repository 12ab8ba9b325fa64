// What the actions of the list of transfers do. Those that ask first are in the view.
import * as ipc from "../../ipc";
import type { Transfer } from "../../ipc";
import type { IconName } from "../../components/icons";
import { t } from "../../i18n";
import { attempt, toasts } from "../../state/toasts.svelte";
import type { ActionName } from "./model";

export const ICONS: Record<ActionName, IconName> = {
  accept: "download",
  decline: "close",
  pause: "pause",
  resume: "play",
  retry: "refresh",
  show: "external",
  cancel: "stop",
  discard: "close",
  forget: "close",
};

/** Actions that need no more of the user. */
export type Direct = Exclude<ActionName, "accept" | "cancel" | "discard">;

function command(name: Direct, transfer: Transfer): Promise<void> {
  switch (name) {
    case "decline":
      return ipc.declineOffer(transfer.id);
    case "pause":
      return ipc.pause(transfer.id);
    case "resume":
    case "retry":
      return ipc.resume(transfer.id);
    case "show":
      return transfer.destination === null ? Promise.resolve() : ipc.showInFolder(transfer.destination);
    case "forget":
      return ipc.forgetTransfers([transfer.id]);
  }
}

export async function run(name: Direct, transfer: Transfer): Promise<void> {
  const done = await attempt(() => command(name, transfer));
  if (done && name === "decline") {
    toasts.show(t("transfers.declined", { name: transfer.name, contact: transfer.contact }));
  }
}
