// A short explanation beside an element while the pointer rests on it or it has the keyboard's focus: `{@attach tooltip(text)}`.
// Only for what is also told otherwise (a label, a text): a screen reader does not read it.
import type { Attachment } from "svelte/attachments";

const DELAY_MS = 450;
const GAP = 6;

export function tooltip(text: string | null | undefined): Attachment<HTMLElement> {
  return (element) => {
    if (!text) return undefined;
    let bubble: HTMLElement | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;

    const show = () => {
      hide();
      bubble = document.createElement("div");
      bubble.className = "tooltip";
      bubble.setAttribute("aria-hidden", "true");
      bubble.textContent = text;
      // What is outside of an open dialog is painted below it.
      (element.closest("dialog") ?? document.body).append(bubble);
      const at = element.getBoundingClientRect();
      const size = bubble.getBoundingClientRect();
      const left = Math.min(Math.max(at.left + at.width / 2 - size.width / 2, GAP), innerWidth - size.width - GAP);
      const below = at.bottom + GAP;
      const top = below + size.height > innerHeight - GAP ? at.top - size.height - GAP : below;
      bubble.style.translate = `${Math.round(left)}px ${Math.round(top)}px`;
    };
    const hide = () => {
      clearTimeout(timer);
      bubble?.remove();
      bubble = null;
    };
    const enter = () => {
      clearTimeout(timer);
      timer = setTimeout(show, DELAY_MS);
    };
    const focus = () => element.matches(":focus-visible, :has(:focus-visible)") && enter();
    const key = (event: KeyboardEvent) => event.key === "Escape" && hide();

    element.addEventListener("pointerenter", enter);
    element.addEventListener("pointerleave", hide);
    element.addEventListener("pointerdown", hide);
    element.addEventListener("focusin", focus);
    element.addEventListener("focusout", hide);
    element.addEventListener("keydown", key);
    return () => {
      hide();
      element.removeEventListener("pointerenter", enter);
      element.removeEventListener("pointerleave", hide);
      element.removeEventListener("pointerdown", hide);
      element.removeEventListener("focusin", focus);
      element.removeEventListener("focusout", hide);
      element.removeEventListener("keydown", key);
    };
  };
}
