// SVG path data of lines and bands with gaps.

export interface Place {
  x: number;
  y: number;
}

const fixed = (value: number): string => String(Math.round(value * 10) / 10);

/** Stretches without a gap. */
function stretches<T>(list: readonly (T | null)[]): T[][] {
  const found: T[][] = [];
  let open: T[] | null = null;
  for (const item of list) {
    if (item === null) {
      open = null;
    } else if (open === null) {
      open = [item];
      found.push(open);
    } else {
      open.push(item);
    }
  }
  return found;
}

/** A line through the places; a place alone between gaps becomes a dash that a round cap makes a dot. */
export function line(places: readonly (Place | null)[]): string {
  return stretches(places)
    .map((stretch) => {
      const [first, ...rest] = stretch.map(({ x, y }) => `${fixed(x)} ${fixed(y)}`);
      return `M${first}${(rest.length > 0 ? rest : [first]).map((place) => `L${place}`).join("")}`;
    })
    .join("");
}

/** The area between an upper and a lower line. */
export function band(places: readonly ({ x: number; upper: number; lower: number } | null)[]): string {
  return stretches(places)
    .filter((stretch) => stretch.length > 1)
    .map((stretch) => {
      const there = stretch.map(({ x, upper }) => `${fixed(x)} ${fixed(upper)}`);
      const back = stretch.map(({ x, lower }) => `${fixed(x)} ${fixed(lower)}`).reverse();
      return `M${[...there, ...back].join("L")}Z`;
    })
    .join("");
}
