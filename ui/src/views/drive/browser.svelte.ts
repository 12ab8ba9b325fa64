// The folder that the drive view shows. It outlives the view, so that coming back finds the same place.
import * as ipc from "../../ipc";
import type { Crumb, Entry, Failure, Path } from "../../ipc";
import { comparing, filter, merge, nextOrder, type Column, type Order, type Row } from "./order";

/** Chunks that arrive within this time are shown together. */
const SHOW_EVERY_MS = 120;

/** A folder of no more entries than this is read again from time to time; a larger one when something is known of it. */
const REREAD_AT_MOST = 2_000;

export class Browser {
  path = $state<Path>("");
  /** From the contact's folder down to this one; none at the top. */
  crumbs = $state.raw<readonly Crumb[]>([]);
  contact = $state<string | null>(null);
  /** Sorted, not filtered. */
  rows = $state.raw<readonly Row[]>([]);
  order = $state.raw<Order>({ column: "name", descending: false });
  text = $state("");
  loading = $state(true);
  /** Keys of `rows`: paths. */
  selected = $state.raw<ReadonlySet<string | number>>(new Set());
  failure = $state.raw<Failure | null>(null);

  readonly shown: readonly Row[] = $derived(filter(this.rows, this.text));
  /** What is selected and shown, so that nothing is done with what cannot be seen. */
  readonly selection: readonly Entry[] = $derived(
    this.selected.size === 0
      ? []
      : this.shown.filter((row) => this.selected.has(row.entry.path)).map((row) => row.entry),
  );

  /** Whether nothing in this folder can be changed, so that it need not be said of each entry. Where shares begin it is. */
  readonly readOnly: boolean = $derived(
    this.depth > 1 && this.rows.length > 0 && this.rows.every((row) => !row.entry.writable),
  );

  /** Which reading is the latest; what an older one brings is left. */
  #reading = 0;
  /** Whether a reading is under way. */
  busy = false;

  /** Goes to a folder and shows its entries as they come. */
  async open(path: Path): Promise<void> {
    if (path !== this.path) {
      this.text = "";
      this.selected = new Set();
      this.contact = null;
      this.crumbs = this.#crumbsTo(path);
    }
    this.path = path;
    this.rows = [];
    this.loading = true;
    await this.#read(true);
  }

  /** Reads the folder again. What is shown stays until the new entries are all there, and if they cannot be had. */
  async reread(): Promise<void> {
    await this.#read(this.rows.length === 0);
  }

  /** Reads a folder again that is small enough to do so without a reason. */
  async rereadIfSmall(): Promise<void> {
    if (!this.busy && this.rows.length <= REREAD_AT_MOST) await this.reread();
  }

  sortBy(column: Column): void {
    this.order = nextOrder(this.order, column);
    this.rows = [...this.rows].sort(comparing(this.order));
  }

  /** The folder that this one is in, null at the top. */
  get parent(): Path | null {
    return this.path === "" ? null : (this.crumbs.at(-2)?.path ?? "");
  }

  /** Of the way to this folder, what is directly below `path`; null when `path` is not on it. */
  below(path: Path): Path | null {
    const at = this.crumbs.findIndex((crumb) => crumb.path === path);
    if (at < 0 && path !== "") return null;
    return this.crumbs[at + 1]?.path ?? null;
  }

  /** Names from the top of the drive down to this folder. */
  get depth(): number {
    return this.path === "" ? 0 : this.crumbs.length;
  }

  /** Crumbs to a folder that is about to be read, as far as they are known. */
  #crumbsTo(path: Path): readonly Crumb[] {
    if (path === "") return [];
    const at = this.crumbs.findIndex((crumb) => crumb.path === path);
    if (at >= 0) return this.crumbs.slice(0, at + 1);
    const entry = this.rows.find((row) => row.entry.path === path)?.entry;
    return entry === undefined ? this.crumbs : [...this.crumbs, { path, name: entry.name }];
  }

  async #read(asTheyCome: boolean): Promise<void> {
    const reading = ++this.#reading;
    let sorted: readonly Row[] = [];
    let waiting: Entry[] = [];
    let timer: ReturnType<typeof setTimeout> | null = null;
    const take = (): void => {
      timer = null;
      sorted = merge(sorted, waiting, this.order);
      waiting = [];
      if (asTheyCome && reading === this.#reading) this.rows = sorted;
    };
    this.busy = true;
    try {
      const listing = await ipc.list(this.path, (entries) => {
        if (reading !== this.#reading) return;
        for (const entry of entries) waiting.push(entry);
        timer ??= setTimeout(take, SHOW_EVERY_MS);
      });
      if (reading !== this.#reading) return;
      this.crumbs = listing.crumbs.filter((crumb) => crumb.path !== "");
      this.contact = listing.contact;
      this.failure = null;
      this.rows = merge(sorted, waiting, this.order);
    } catch (error) {
      if (reading !== this.#reading) return;
      const failure = ipc.failure(error);
      if (!asTheyCome && failure.kind !== "notFound") return;
      this.failure = failure;
      this.rows = [];
    } finally {
      if (timer !== null) clearTimeout(timer);
      if (reading === this.#reading) {
        this.loading = false;
        this.busy = false;
      }
    }
  }
}

export const browser = new Browser();
