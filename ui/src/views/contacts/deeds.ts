// What is done with a contact, from its row's menu and from its details alike.
import type { MenuEntry } from "../../components/menu";
import { pickFiles } from "../../drop/flow.svelte";
import { t } from "../../i18n";
import * as ipc from "../../ipc";
import type { Contact } from "../../ipc";
import { router } from "../../state/router.svelte";
import { attempt, toasts } from "../../state/toasts.svelte";
import { canDisconnect } from "./status";

export const connect = (contact: Contact) => attempt(() => ipc.connect(contact.name));
export const disconnect = (contact: Contact) => attempt(() => ipc.disconnect(contact.name));

/** Shows the contact's folder in the drive view. Its path is the listing's. */
export async function browse({ name }: Contact): Promise<void> {
  await attempt(async () => {
    let found: ipc.Path | null = null;
    await ipc.list("", (entries) => {
      found = entries.find((entry) => entry.name === name)?.path ?? found;
    });
    if (found === null) toasts.show(t("contacts.noFolder", { name }));
    else router.go("drive", { path: found });
  });
}

export async function copyCode({ name, code }: Contact): Promise<void> {
  if (await attempt(() => ipc.copyText(code))) toasts.success(t("contacts.codeCopied", { name }));
}

export type Asked = { what: "rename" | "remove"; contact: Contact };

/** The menu of a contact; `ask` opens the dialogs. */
export function menu(contact: Contact, ask: (asked: Asked) => void): MenuEntry[] {
  const connection: MenuEntry = canDisconnect(contact)
    ? { label: t("contacts.disconnect"), icon: "disconnect", run: () => void disconnect(contact) }
    : { label: t("contacts.connect"), icon: "connect", run: () => void connect(contact) };
  return [
    connection,
    { label: t("contacts.browse"), icon: "folder", disabled: contact.pairing === "pending", run: () => void browse(contact) },
    { label: t("contacts.share"), icon: "send", disabled: contact.pairing === "pending", run: () => void pickFiles({ contact: contact.name }) },
    { label: t("contacts.copyCode"), icon: "copy", run: () => void copyCode(contact) },
    "separator",
    { label: t("contacts.rename"), icon: "edit", run: () => ask({ what: "rename", contact }) },
    { label: t("contacts.remove"), icon: "trash", danger: true, run: () => ask({ what: "remove", contact }) },
  ];
}
