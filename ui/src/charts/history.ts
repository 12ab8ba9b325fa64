// Values over time with fixed memory: one bucket a second, the last record in it wins.

/** Seconds that are kept. */
export const CAPACITY = 3600;
/** Milliseconds of a bucket. */
const STEP = 1000;
/** Buckets that a value is taken to hold on when nothing is recorded: pages in the background are woken seldom. */
const HOLD = 90;

/** Points of a stretch of time, the oldest first; `null` where nothing is known. */
export interface Points {
  /** Seconds before now, as 0 or less. */
  times: number[];
  /** One list per column. */
  columns: (number | null)[][];
}

export class History {
  readonly #columns: number;
  /** One row of columns per bucket. A float32 is exact to seven digits, which no chart shows. */
  readonly #values: Float32Array;
  /** The bucket last recorded, counted from time 0; `null` before the first. */
  #last: number | null = null;
  #first = 0;

  constructor(columns: number) {
    this.#columns = columns;
    this.#values = new Float32Array(columns * CAPACITY).fill(Number.NaN);
  }

  /** Records one value per column at `now`, in milliseconds of a clock that never goes back. */
  record(now: number, values: readonly (number | null)[]): void {
    const bucket = Math.floor(now / STEP);
    if (this.#last === null) {
      this.#first = bucket;
    } else if (bucket > this.#last) {
      this.#fill(this.#last, bucket);
    }
    this.#last = Math.max(bucket, this.#last ?? bucket);
    const row = (this.#last % CAPACITY) * this.#columns;
    for (let column = 0; column < this.#columns; column += 1) {
      this.#values[row + column] = values[column] ?? Number.NaN;
    }
  }

  /** The last `seconds` before `now`, as `points` means of equally long stretches. */
  read(now: number, seconds: number, points: number): Points {
    const end = Math.floor(now / STEP);
    const width = seconds / points;
    const times: number[] = [];
    const columns: (number | null)[][] = Array.from({ length: this.#columns }, () => []);
    for (let point = 0; point < points; point += 1) {
      const from = end - seconds + Math.round(point * width) + 1;
      const to = end - seconds + Math.round((point + 1) * width);
      times.push(to - end);
      columns.forEach((column, index) => column.push(this.#mean(index, from, to)));
    }
    return { times, columns };
  }

  /** What the buckets between two records hold. */
  #fill(last: number, bucket: number): void {
    const held = (last % CAPACITY) * this.#columns;
    const row = this.#values.slice(held, held + this.#columns);
    const hold = bucket - last <= HOLD;
    const from = Math.max(last + 1, bucket - CAPACITY + 1);
    for (let between = from; between < bucket; between += 1) {
      const at = (between % CAPACITY) * this.#columns;
      if (hold) {
        this.#values.set(row, at);
      } else {
        this.#values.fill(Number.NaN, at, at + this.#columns);
      }
    }
  }

  #mean(column: number, from: number, to: number): number | null {
    if (this.#last === null) {
      return null;
    }
    let sum = 0;
    let count = 0;
    for (let bucket = from; bucket <= to; bucket += 1) {
      const value = this.#at(column, bucket, this.#last);
      if (value !== null) {
        sum += value;
        count += 1;
      }
    }
    return count === 0 ? null : sum / count;
  }

  #at(column: number, bucket: number, last: number): number | null {
    if (bucket < this.#first || bucket <= last - CAPACITY || bucket > last + HOLD) {
      return null;
    }
    const row = (Math.min(bucket, last) % CAPACITY) * this.#columns;
    const value = this.#values[row + column];
    return value === undefined || Number.isNaN(value) ? null : value;
  }
}
