// Axes: where the ticks go, and from values to pixels.

/** At most `count` steps of 1, 2 or 5 times a power of ten from 0 to at least `largest`; the last is the axis' end. */
export function ticks(largest: number, count: number): number[] {
  const end = largest > 0 && Number.isFinite(largest) ? largest : 1;
  const raw = end / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= raw * (1 - 1e-9)) ?? 10) * power;
  const steps = Math.ceil(end / step - 1e-9);
  // Multiplying keeps out the errors that adding would sum up.
  return Array.from({ length: steps + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

/** Seconds before now, as 0 or less, from the oldest: whole minutes, as many as there is room for. */
export function timeTicks(seconds: number, count: number): number[] {
  const steps = [60, 120, 300, 600, 900, 1800, 3600];
  const step = steps.find((candidate) => seconds / candidate <= Math.max(1, count)) ?? seconds;
  const found: number[] = [];
  for (let at = 0; at <= seconds; at += step) {
    found.unshift(-at);
  }
  // -0 would be shown as such.
  return found.map((at) => at + 0);
}

/** Maps `from`..`to` linearly to pixels. */
export function linear(from: number, to: number, left: number, right: number): (value: number) => number {
  const span = to - from || 1;
  return (value) => left + ((value - from) / span) * (right - left);
}

/** A figure of an axis without the zeros that only tell how exact a measured one is. */
export function plain(figure: string): string {
  return figure.replace(/[.,]0+(?=\D|$)/, "").replace(/([.,]\d*[1-9])0+(?=\D|$)/, "$1");
}
