// Runs something at most so often; of several wishes in between, one run remains, after the interval.

export class Throttle {
  readonly #interval: number;
  readonly #run: () => void;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #last = Number.NEGATIVE_INFINITY;

  /** `interval` in milliseconds. */
  constructor(interval: number, run: () => void) {
    this.#interval = interval;
    this.#run = run;
  }

  /** Wants a run: at once if the last one is long enough ago, else when it is. */
  want(): void {
    if (this.#timer !== null) {
      return;
    }
    const wait = this.#last + this.#interval - performance.now();
    if (wait <= 0) {
      this.#go();
    } else {
      this.#timer = setTimeout(() => this.#go(), wait);
    }
  }

  stop(): void {
    if (this.#timer !== null) {
      clearTimeout(this.#timer);
      this.#timer = null;
    }
  }

  #go(): void {
    this.#timer = null;
    this.#last = performance.now();
    this.#run();
  }
}
