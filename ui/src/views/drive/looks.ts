import type { IconName } from "../../components/icons";
import type { ActionName } from "./actions";

/** Icons of the actions, in menus and on buttons. */
export const ICONS: Record<ActionName, IconName> = {
  open: "folderOpen",
  show: "external",
  pull: "download",
  pin: "pin",
  unpin: "unpin",
  drop: "broom",
  unshare: "close",
};
