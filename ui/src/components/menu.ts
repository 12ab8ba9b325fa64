import type { IconName } from "./icons";

export type MenuItem = {
  label: string;
  run: () => void;
  icon?: IconName;
  disabled?: boolean;
  danger?: boolean;
  /** Makes it an item with a tick. */
  checked?: boolean;
  /** Shown only; the view handles the key. */
  shortcut?: string;
};

export type MenuEntry = MenuItem | "separator";

/** Where a menu goes: at a point of the window, or below an element. */
export type MenuPlace = { x: number; y: number } | HTMLElement;
