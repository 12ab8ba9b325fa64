/** One or two letters that stand for a name: of the first and the last word, else the first letter. */
export function initials(name: string): string {
  const words = name.trim().split(/[\s._-]+/).filter((word) => word !== "");
  const first = words[0] ?? "";
  const last = words.length > 1 ? (words[words.length - 1] ?? "") : "";
  return ([...first][0] ?? "?").toUpperCase() + ([...last][0] ?? "").toUpperCase();
}
