// Whether the pairing dialog is open, and with which code it begins.

let open = $state(false);
let code = $state("");

export const pairing = {
  get open(): boolean {
    return open;
  },
  set open(value: boolean) {
    open = value;
  },
  /** The code from a link, to begin with. */
  get code(): string {
    return code;
  },
  show(prefill = ""): void {
    code = prefill;
    open = true;
  },
};
