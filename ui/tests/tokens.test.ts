// Contrasts of the colours, both themes: WCAG 2.2, 1.4.3 (text, 4.5) and 1.4.11 (controls and marks, 3).
import { expect, test } from "vitest";
import css from "../src/design/tokens.css?raw";

type Theme = ReadonlyMap<string, string>;

function theme(selector: string): Theme {
  const at = css.indexOf(`[data-theme="${selector}"] {`);
  const block = css.slice(at, css.indexOf("\n}", at));
  return new Map([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map((found) => [found[1] ?? "", found[2] ?? ""]));
}

function luminance(colour: string): number {
  const channel = (at: number) => {
    const value = parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

function contrast(of: Theme, front: string, ground: string): number {
  const [a, b] = [of.get(front), of.get(ground)];
  if (!a || !b) throw new Error(`${front} or ${ground} is no colour`);
  const [high, low] = [luminance(a), luminance(b)].sort((one, other) => other - one) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const GROUNDS = ["bg", "bg-sidebar", "bg-subtle", "bg-raised", "bg-hover", "bg-active", "bg-selected", "bg-input"];
const TEXT: [front: string, grounds: string[]][] = [
  ["text", [...GROUNDS, "accent-soft", "success-soft", "warning-soft", "danger-soft"]],
  ["text-muted", [...GROUNDS, "accent-soft"]],
  ["accent", ["bg", "bg-raised", "bg-hover", "bg-active", "accent-soft", "bg-input"]],
  ["success", ["bg", "bg-raised", "bg-hover", "bg-selected", "success-soft"]],
  ["warning", ["bg", "bg-raised", "bg-hover", "bg-selected", "warning-soft"]],
  ["danger", ["bg", "bg-raised", "bg-hover", "bg-selected", "danger-soft"]],
  ["on-accent", ["accent", "accent-hover", "accent-active"]],
  ["on-danger", ["danger", "danger-hover"]],
  ["text-tooltip", ["bg-tooltip"]],
];
const MARKS: [front: string, grounds: string[]][] = [
  ["border-control", ["bg", "bg-raised", "bg-input", "bg-subtle"]],
  ["focus", ["bg", "bg-raised", "bg-sidebar", "bg-selected"]],
  ["series-1", ["bg"]],
  ["series-2", ["bg"]],
  ["series-3", ["bg"]],
  ["series-4", ["bg"]],
  ["block-cached", ["bg"]],
  ["block-demand", ["bg"]],
  ["block-ahead", ["bg"]],
  ["playhead", ["bg", "block-missing", "block-cached"]],
];

test.each(["light", "dark"])("%s", (name) => {
  const colours = theme(name);
  const low = (pairs: typeof TEXT, least: number) =>
    pairs.flatMap(([front, grounds]) =>
      grounds
        .map((ground) => ({ pair: `${front} on ${ground}`, ratio: contrast(colours, front, ground) }))
        .filter(({ ratio }) => ratio < least)
        .map(({ pair, ratio }) => `${pair}: ${ratio.toFixed(2)}`),
    );
  expect(low(TEXT, 4.5)).toEqual([]);
  expect(low(MARKS, 3)).toEqual([]);
});

test("both themes have the same colours", () => {
  expect([...theme("dark").keys()].sort()).toEqual([...theme("light").keys()].sort());
});
