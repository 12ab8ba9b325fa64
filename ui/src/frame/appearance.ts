// How the page looks by the preferences: theme, scale, language.
import { language, pickLanguage } from "../i18n";
import type { Preferences } from "../ipc";

const systemDark = window.matchMedia("(prefers-color-scheme: dark)");

/** Before the preferences are known everything is as in the system. */
export function applyAppearance(preferences: Preferences | null): void {
  const theme = preferences?.theme ?? "system";
  const tag = pickLanguage(preferences?.language ?? null, navigator.languages);
  const root = document.documentElement;
  root.dataset["theme"] = theme === "system" ? (systemDark.matches ? "dark" : "light") : theme;
  root.style.fontSize = `${preferences?.scale ?? 100}%`;
  root.lang = tag;
  language.set(tag);
}

/** Calls back when the system's theme changes; returns what ends it. */
export function onSystemTheme(changed: () => void): () => void {
  systemDark.addEventListener("change", changed);
  return () => systemDark.removeEventListener("change", changed);
}
