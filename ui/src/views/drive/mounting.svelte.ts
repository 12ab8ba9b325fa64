// Mounting and unmounting: what is under way, and what holds a drive that cannot be unmounted.
import * as ipc from "../../ipc";
import type { Holder } from "../../ipc";
import { t } from "../../i18n";
import { attempt, toasts } from "../../state/toasts.svelte";

class Mounting {
  busy = $state<"mount" | "unmount" | null>(null);
  /** Not empty while the drive is held and the user has not decided yet. */
  holders = $state.raw<readonly Holder[]>([]);

  async mount(): Promise<void> {
    if (this.busy !== null) return;
    this.busy = "mount";
    // That it is mounted is seen in the state.
    await attempt(ipc.mount);
    this.busy = null;
  }

  async unmount(force: boolean): Promise<void> {
    if (this.busy !== null) return;
    this.busy = "unmount";
    await attempt(async () => {
      this.holders = await ipc.unmount(force);
      if (this.holders.length === 0) toasts.success(t("drive.unmountedNow"));
    });
    this.busy = null;
  }

  letBe(): void {
    this.holders = [];
  }
}

export const mounting = new Mounting();
