// Paints block maps. Each state has a pattern of its own, so that it is told apart without colour too.
import type { BlockMap, CellState } from "./blockmap";

/** Colours as CSS strings. */
export interface Palette {
  missing: string;
  cached: string;
  demand: string;
  ahead: string;
  playhead: string;
  outline: string;
}

/** The colours of the present theme, from the design's tokens. */
export function palette(element: Element): Palette {
  const style = getComputedStyle(element);
  const token = (name: string): string => style.getPropertyValue(name).trim();
  return {
    missing: token("--block-missing"),
    cached: token("--block-cached"),
    demand: token("--block-demand"),
    ahead: token("--block-ahead"),
    playhead: token("--playhead"),
    outline: token("--border-strong"),
  };
}

type Context = CanvasRenderingContext2D;

/** Pixels of a pattern's tile. */
const TILE = 6;

type Fill = string | CanvasPattern;
export type Fills = Record<CellState, Fill>;

/** What to fill cells with: solid for cached, a checker for part of it, stripes for read-ahead, solid with a lattice for
 * demand. `density` is device pixels per CSS pixel. */
export function fills(context: Context, palette: Palette, density: number): Fills {
  const pixels = Math.round(TILE * density);
  const tile = (plain: string, draw: (tile: Context) => void): Fill => {
    const canvas = document.createElement("canvas");
    canvas.width = pixels;
    canvas.height = pixels;
    const own = canvas.getContext("2d");
    if (own === null) {
      return plain;
    }
    own.scale(pixels / TILE, pixels / TILE);
    own.fillStyle = palette.missing;
    own.fillRect(0, 0, TILE, TILE);
    draw(own);
    const pattern = context.createPattern(canvas, "repeat");
    // A tile is in device pixels; the context that it fills is scaled to CSS pixels.
    pattern?.setTransform(new DOMMatrix().scale(TILE / pixels));
    return pattern ?? plain;
  };
  return {
    missing: palette.missing,
    cached: palette.cached,
    part: tile(palette.cached, (own) => {
      own.fillStyle = palette.cached;
      own.fillRect(0, 0, TILE / 2, TILE / 2);
      own.fillRect(TILE / 2, TILE / 2, TILE / 2, TILE / 2);
    }),
    ahead: tile(palette.ahead, (own) => {
      own.strokeStyle = palette.ahead;
      own.lineWidth = 2;
      diagonal(own, 1);
    }),
    demand: tile(palette.demand, (own) => {
      own.fillStyle = palette.demand;
      own.fillRect(0, 0, TILE, TILE);
      own.strokeStyle = palette.missing;
      own.lineWidth = 0.8;
      diagonal(own, 1);
      diagonal(own, -1);
    }),
  };
}

function diagonal(tile: Context, slope: 1 | -1): void {
  tile.beginPath();
  // Three lines, so that the corners are drawn as well.
  for (const offset of [-TILE, 0, TILE]) {
    tile.moveTo(offset - 1, slope === 1 ? TILE + 1 : -1);
    tile.lineTo(offset + TILE + 1, slope === 1 ? -1 : TILE + 1);
  }
  tile.stroke();
}

/** Pixels in units of a sixteenth of the root's font size: sizes in units grow with the window's scale. */
export function units(pixels: number): number {
  return (pixels * 16) / Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
}

/** Where to paint; sizes are in units. */
export interface Surface {
  context: Context;
  width: number;
  height: number;
  palette: Palette;
  fills: Fills;
}

/** Makes a canvas as sharp as the screen; `null` where it cannot be drawn on. */
export function surface(canvas: HTMLCanvasElement): Surface | null {
  const context = canvas.getContext("2d");
  if (context === null || canvas.clientWidth === 0) {
    return null;
  }
  const width = units(canvas.clientWidth);
  const height = units(canvas.clientHeight);
  const density = (devicePixelRatio * canvas.clientWidth) / width;
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(height * density);
  context.scale(density, density);
  const colours = palette(canvas);
  return { context, width, height, palette: colours, fills: fills(context, colours, density) };
}

/** Height of the triangles above a strip that mark playheads. */
export const MARK = 6;

/** The whole file in one line, with a triangle above each playhead. */
export function paintStrip({ context, width, height, palette, fills }: Surface, map: BlockMap): void {
  const count = Math.max(1, map.cells.length);
  const x = (cell: number): number => Math.round((cell / count) * width);
  const fill = (from: number, to: number, state: CellState): void => {
    context.fillStyle = fills[state];
    context.fillRect(from, MARK, to - from, height - MARK);
  };
  fill(0, width, "missing");
  let from = 0;
  map.cells.forEach((state, cell) => {
    if (map.cells[cell + 1] === state) {
      return;
    }
    // What is on its way is often a small part of a file, and must be seen.
    const least = state === "demand" || state === "ahead" ? 3 : 1;
    fill(x(from), Math.max(x(from) + least, x(cell + 1)), state);
    from = cell + 1;
  });
  context.strokeStyle = palette.outline;
  context.strokeRect(0.5, MARK + 0.5, width - 1, height - MARK - 1);
  context.fillStyle = palette.playhead;
  for (const cell of map.playheads) {
    const at = Math.min(Math.max(x(cell + 0.5), 4), width - 4);
    context.beginPath();
    context.moveTo(at - 4, 0);
    context.lineTo(at + 4, 0);
    context.lineTo(at, MARK);
    context.fill();
    context.fillRect(at - 0.75, MARK, 1.5, height - MARK);
  }
}

/** From one cell of the grid to the next. */
export const PITCH = 12;

/** One square per cell, in rows; where somebody reads it has a thick rim. */
export function paintGrid({ context, palette, fills }: Surface, map: BlockMap, columns: number): void {
  const side = PITCH - 2;
  const x = (cell: number): number => (cell % columns) * PITCH + 1;
  const y = (cell: number): number => Math.floor(cell / columns) * PITCH + 1;
  map.cells.forEach((state, cell) => {
    context.fillStyle = fills[state];
    context.fillRect(x(cell), y(cell), side, side);
  });
  context.strokeStyle = palette.playhead;
  context.lineWidth = 2;
  for (const cell of map.playheads) {
    context.strokeRect(x(cell), y(cell), side, side);
  }
}

/** One cell, for the legend. */
export function paintSwatch({ context, width, height, palette, fills }: Surface, what: CellState | "playhead"): void {
  context.fillStyle = fills[what === "playhead" ? "missing" : what];
  context.fillRect(1, 1, width - 2, height - 2);
  if (what === "playhead") {
    context.strokeStyle = palette.playhead;
    context.lineWidth = 2;
    context.strokeRect(1, 1, width - 2, height - 2);
  }
}
