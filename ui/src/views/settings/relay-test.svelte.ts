// Tries a relay that may not be stored yet.
import * as ipc from "../../ipc";

export type Tested = { state: "running" } | { state: "good"; roundTripMs: number } | { state: "bad"; message: string };

export class RelayTest {
  #address = $state("");
  #result = $state.raw<Tested | null>(null);

  /** The result for an address; `null` if another one was tested. */
  of(address: string): Tested | null {
    return address.trim() === this.#address ? this.#result : null;
  }

  async run(address: string): Promise<void> {
    const tested = address.trim();
    this.#address = tested;
    this.#result = { state: "running" };
    const result = await ipc.testRelay(tested).then(
      ({ roundTripMs }): Tested => ({ state: "good", roundTripMs }),
      (error: unknown): Tested => ({ state: "bad", message: ipc.failure(error).message }),
    );
    // Another address may have been tested meanwhile.
    if (this.#address === tested) {
      this.#result = result;
    }
  }
}
