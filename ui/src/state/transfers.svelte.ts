// All transfers, kept whole by deltas. The map is not reactive itself: a change makes one new list, not one signal each.
import type { Transfer, TransferChanges } from "../ipc";

const byId = new Map<number, Transfer>();
let loaded = $state(false);
let list = $state.raw<readonly Transfer[]>([]);

/** Puts changes into `map`; tells whether anything is different now. */
export function applyChanges(map: Map<number, Transfer>, { changed, removed }: TransferChanges): boolean {
  let different = changed.length > 0;
  for (const transfer of changed) map.set(transfer.id, transfer);
  for (const id of removed) different = map.delete(id) || different;
  return different;
}

const newestFirst = () => [...byId.values()].sort((a, b) => b.id - a.id);

export const transfers = {
  /** False until the first whole list came. */
  get loaded(): boolean {
    return loaded;
  },
  /** Newest first. */
  get list(): readonly Transfer[] {
    return list;
  },
  reset(all: readonly Transfer[]): void {
    byId.clear();
    for (const transfer of all) byId.set(transfer.id, transfer);
    list = newestFirst();
    loaded = true;
  },
  apply(changes: TransferChanges): void {
    if (applyChanges(byId, changes)) list = newestFirst();
  },
};
