// From files that were dropped, pasted or picked to a share or a push: the state of the dialog, and what opens it.
import * as ipc from "../ipc";
import type { DescribedPath, Failure, Path } from "../ipc";
import { t } from "../i18n";
import { app } from "../state/app.svelte";
import { router } from "../state/router.svelte";
import { attempt, toasts } from "../state/toasts.svelte";
import { nameProblem, sharedAlready, summarise } from "./paths";
import { propose, type How, type Target } from "./target";

/** The shell looks at no more paths in one call. */
const AT_ONCE = 1_000;

class Flow {
  open = $state(false);
  contact = $state<string | null>(null);
  how = $state<How>("share");
  writable = $state(false);
  /** What a single item is called in the contact's drive. */
  name = $state("");
  /** How many paths are still being looked at. */
  reading = $state(0);
  working = $state(false);
  failure = $state.raw<Failure | null>(null);
  #described = $state.raw<readonly DescribedPath[]>([]);
  #last: Target | null = null;
  /** Counts openings of the dialog: what was asked for an earlier one is left. */
  #opening = 0;

  readonly what = $derived(summarise(this.#described));
  /** The single item, whose name can be chosen. */
  readonly single = $derived(this.what.usable.length === 1 ? (this.what.usable[0] ?? null) : null);
  readonly shares = $derived(app.state?.shares ?? []);
  readonly already = $derived(
    this.how === "share" && this.contact !== null ? sharedAlready(this.what.usable, this.shares, this.contact) : [],
  );
  readonly nameProblem = $derived(
    this.how === "share" && this.single !== null && this.contact !== null && this.already.length === 0
      ? nameProblem(this.name, this.shares, this.contact)
      : null,
  );
  readonly ready = $derived(
    this.contact !== null &&
      this.what.usable.length > 0 &&
      this.reading === 0 &&
      this.nameProblem === null &&
      this.already.length < this.what.usable.length &&
      !this.working,
  );

  /** Opens the dialog for these paths, or adds them to it when it is open. */
  async begin(paths: Path[], preset: Partial<Target> = {}): Promise<void> {
    if (!this.open) this.#reset(preset);
    const opening = this.#opening;
    this.reading += paths.length;
    try {
      for (let at = 0; at < paths.length; at += AT_ONCE) {
        const described = await ipc.describePaths(paths.slice(at, at + AT_ONCE));
        if (opening !== this.#opening) return;
        this.#described = [...this.#described, ...described];
        this.name = this.single?.name ?? "";
      }
    } catch (error) {
      if (opening === this.#opening) this.failure = ipc.failure(error);
    } finally {
      if (opening === this.#opening) this.reading -= paths.length;
    }
  }

  leaveOut(path: Path): void {
    this.#described = this.#described.filter((one) => one.path !== path);
    this.name = this.single?.name ?? "";
  }

  close(): void {
    this.open = false;
    this.#opening += 1;
  }

  async confirm(): Promise<void> {
    const { contact, how } = this;
    if (contact === null || !this.ready) return;
    const skip = new Set(this.already.map((one) => one.path));
    const items = this.what.usable.filter((one) => !skip.has(one.path));
    const paths = items.map((one) => one.path);
    const renamed = how === "share" && this.single !== null && this.name !== this.single.name ? this.name : null;
    this.working = true;
    this.failure = null;
    try {
      if (how === "share") await ipc.share(paths, contact, renamed, this.writable);
      else await ipc.push(paths, contact);
      this.#last = { contact, how };
      this.close();
      const item = renamed ?? items[0]?.name ?? "";
      if (how === "share") {
        toasts.show(t("drop.shared", { count: items.length, item, name: contact }), "success", {
          label: t("drop.showShares"),
          run: () => router.go("shares"),
        });
      } else {
        toasts.show(t("drop.sent", { count: items.length, item, name: contact }), "success", {
          label: t("drop.showTransfers"),
          run: () => router.go("transfers"),
        });
      }
    } catch (error) {
      this.failure = ipc.failure(error);
    } finally {
      this.working = false;
    }
  }

  #reset(preset: Partial<Target>): void {
    const proposed = propose({
      contacts: (app.state?.contacts ?? []).map((contact) => contact.name),
      view: router.view,
      here: here.contact,
      last: this.#last,
    });
    this.contact = preset.contact ?? proposed.contact;
    this.how = preset.how ?? proposed.how;
    this.writable = false;
    this.failure = null;
    this.#described = [];
    this.reading = 0;
    this.open = true;
  }
}

/** The contact whose place in the window the user looks at, told by the view that knows. */
export const here = $state<{ contact: string | null }>({ contact: null });

export const flow = new Flow();

/** Shares or sends what the user picks in the system's dialog for files. */
export async function pickFiles(preset: Partial<Target> = {}): Promise<void> {
  await attempt(async () => {
    const paths = await ipc.pickFiles();
    if (paths.length > 0) await flow.begin(paths, preset);
  });
}

/** The same with a folder. */
export async function pickFolder(preset: Partial<Target> = {}): Promise<void> {
  await attempt(async () => {
    const path = await ipc.pickFolder();
    if (path !== null) await flow.begin([path], preset);
  });
}

/** The same with the files in the clipboard. */
export async function paste(): Promise<void> {
  await attempt(async () => {
    const paths = await ipc.pastePaths();
    if (paths.length > 0) await flow.begin(paths);
    else toasts.show(t("drop.clipboardEmpty"));
  });
}
