// The files that are open on the drive, watched while somebody looks.
import * as ipc from "../../ipc";
import type { Failure, OpenFile } from "../../ipc";

export interface Watched {
  /** `null` until the first answer. */
  readonly files: readonly OpenFile[] | null;
  readonly failure: Failure | null;
}

/** Watches while the component lives, the window is seen and `wanted` says so. To be called while a component is set up. */
export function watchOpenFiles(wanted: () => boolean): Watched {
  let files = $state.raw<readonly OpenFile[] | null>(null);
  let failure = $state.raw<Failure | null>(null);
  let seen = $state(!document.hidden);

  $effect(() => {
    const look = (): void => {
      seen = !document.hidden;
    };
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  });

  const active = $derived(seen && wanted());
  $effect(() => {
    if (!active) {
      return;
    }
    // What comes after the end is of a watch that nobody asked for any more.
    let live = true;
    const fail = (error: unknown): void => {
      if (live) {
        failure = ipc.failure(error);
      }
    };
    failure = null;
    ipc
      .watchOpenFiles((now) => {
        if (live) {
          files = now;
        }
      })
      .catch(fail);
    return () => {
      live = false;
      // The engine may be gone by now, and with it the watch.
      ipc.unwatchOpenFiles().catch(() => undefined);
    };
  });

  return {
    get files() {
      return files;
    },
    get failure() {
      return failure;
    },
  };
}
