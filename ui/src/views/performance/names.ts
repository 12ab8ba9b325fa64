import { t } from "../../i18n";

/** A path as people call it. */
export function pathName(path: string): string {
  switch (path) {
    case "lan":
    case "direct":
    case "punched":
    case "relayed":
      return t(`common.path.${path}`);
    default:
      return path;
  }
}

/** A transport in its usual spelling. */
export function transportName(transport: string): string {
  return transport.toUpperCase();
}
