// The page's only door to the shell: a typed function for every command, `on` for every event.
// Every function rejects with a `Failure`. Names that others chose are made fit to be shown here (shown.ts).
import { backend, type Arguments, type Unlisten } from "./backend";
import { failure } from "./failure";
import * as shown from "./shown";
import type {
  Check,
  DescribedPath,
  Entry,
  Events,
  Holder,
  Listing,
  OpenFile,
  Path,
  Preferences,
  RelayTest,
  Settings,
  SettingsReply,
  State,
  Transfer,
} from "./types";

export * from "./types";
export { failure, isFailure } from "./failure";
export type { Unlisten } from "./backend";

async function call<T>(command: string, args: Arguments = {}): Promise<T> {
  try {
    return (await backend().invoke(command, args)) as T;
  } catch (error) {
    throw failure(error);
  }
}

// What is
export const state = async () => shown.state(await call<State>("state"));
export const transfers = async () => (await call<Transfer[]>("transfers")).map(shown.transfer);

// Preferences of the window, settings of the engine
export const preferences = () => call<Preferences>("preferences");
export const setPreferences = (preferences: Preferences) => call<void>("set_preferences", { preferences });
export const settings = () => call<Settings>("settings");
export const setSettings = (settings: Settings) => call<SettingsReply>("set_settings", { settings });
export const restartEngine = () => call<void>("restart_engine");
export const testRelay = (address: string) => call<RelayTest>("test_relay", { address });

// Contacts
export const addContact = (name: string, code: string) => call<void>("add_contact", { name, code });
export const renameContact = (old: string, name: string) => call<void>("rename_contact", { old, new: name });
export const removeContact = (name: string) => call<void>("remove_contact", { name });
export const connect = (name: string) => call<void>("connect", { name });
export const disconnect = (name: string) => call<void>("disconnect", { name });
/** Where a contact's pushes go without asking; null asks every time. */
export const acceptPushes = (contact: string, folder: Path | null) => call<void>("accept_pushes", { contact, folder });
export const copyText = (text: string) => call<void>("copy_text", { text });
/** SVG text. */
export const qr = (text: string) => call<string>("qr", { text });

// The drive
export const mount = () => call<void>("mount");
/** What holds the drive; when there is any, nothing was unmounted. */
export const unmount = async (force: boolean) => (await call<Holder[]>("unmount", { force })).map(shown.holder);
export const openDrive = (path: Path | null) => call<void>("open_drive", { path });
export const pin = (path: Path) => call<void>("pin", { path });
export const unpin = (path: Path) => call<void>("unpin", { path });
export const dropCache = (path: Path | null) => call<void>("drop_cache", { path });
/** Entries come in pieces of at most 1,000; resolves when all were handed over. */
export async function list(path: Path, onEntries: (entries: Entry[]) => void): Promise<Listing> {
  const channel = backend().channel((entries) => onEntries((entries as Entry[]).map(shown.entry)));
  const listing = await call<Listing>("list", { path, channel });
  return { ...listing, crumbs: listing.crumbs.map(shown.crumb) };
}
/** Only one watch is live at a time. */
export const watchOpenFiles = (onFiles: (files: OpenFile[]) => void) =>
  call<void>("watch_open_files", { channel: backend().channel((files) => onFiles((files as OpenFile[]).map(shown.openFile))) });
export const unwatchOpenFiles = () => call<void>("unwatch_open_files");

// Files of this machine
export const showInFolder = (path: Path) => call<void>("show_in_folder", { path });
export const pickFiles = () => call<Path[]>("pick_files");
export const pickFolder = () => call<Path | null>("pick_folder");
export const describePaths = async (paths: Path[]) => (await call<DescribedPath[]>("describe_paths", { paths })).map(shown.described);
/** The files in the clipboard. */
export const pastePaths = () => call<Path[]>("paste_paths");

// Shares
export const share = (paths: Path[], contact: string, name: string | null, writable: boolean) =>
  call<void>("share", { paths, contact, name, writable });
export const unshare = (path: Path, contact: string) => call<void>("unshare", { path, contact });

// Transfers
export const push = (paths: Path[], contact: string) => call<void>("push", { paths, contact });
export const pull = (path: Path, destination: Path | null) => call<void>("pull", { path, destination });
export const acceptOffer = (id: number, folder: Path | null) => call<void>("accept_offer", { id, folder });
export const declineOffer = (id: number) => call<void>("decline_offer", { id });
export const pause = (id: number) => call<void>("pause", { id });
export const resume = (id: number) => call<void>("resume", { id });
export const cancel = (id: number) => call<void>("cancel", { id });
export const pauseAll = () => call<void>("pause_all");
export const resumeAll = () => call<void>("resume_all");
/** Forgets finished transfers; null all of them. */
export const forgetTransfers = (ids: number[] | null) => call<void>("forget_transfers", { ids });

// Diagnostics
export const doctor = () => call<Check[]>("doctor");
export const previewDiagnostics = () => call<string>("preview_diagnostics");
/** Where it was saved; null when the dialog was closed. */
export const exportDiagnostics = () => call<Path | null>("export_diagnostics");

// The demo, and the window itself
export const startDemo = () => call<void>("start_demo");
export const stopDemo = () => call<void>("stop_demo");
export const closeWindow = (how: "hide" | "quit") => call<void>("close_window", { how });
/** What holds the drive; when there is any and `force` is false, nothing ended. */
export const quit = async (force: boolean) => (await call<Holder[]>("quit", { force })).map(shown.holder);
/** Tells that the page was painted for the first time. */
export const painted = () => call<void>("painted");

const listenTo =
  <E extends keyof Events>(event: E, fit: (payload: Events[E]) => Events[E] = (payload) => payload) =>
  (handler: (payload: Events[E]) => void): Promise<Unlisten> =>
    backend().listen(event, (payload) => handler(fit(payload)));

export const on = {
  state: listenTo("state", shown.state),
  transfers: listenTo("transfers", ({ changed, removed }) => ({ changed: changed.map(shown.transfer), removed })),
  dragging: listenTo("dragging"),
  dropped: listenTo("dropped"),
  link: listenTo("link"),
  opened: listenTo("opened"),
  askClose: listenTo("ask-close"),
  quitHeld: listenTo("quit-held", ({ holders }) => ({ holders: holders.map(shown.holder) })),
  showView: listenTo("show-view"),
};
