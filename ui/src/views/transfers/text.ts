// A transfer in words.
import { t } from "../../i18n";
import * as format from "../../i18n/format";
import type { Transfer } from "../../ipc/types";

export function way(transfer: Transfer): string {
  return t(`transfers.way.${transfer.direction}`, { name: transfer.contact });
}

/** How much of it there is; null while nothing is known of its size. */
export function amount(transfer: Transfer): string | null {
  if (transfer.bytes === 0 && transfer.files === 0) return null;
  const over = transfer.state === "done" || transfer.state === "offered";
  if (over || transfer.bytesDone >= transfer.bytes) return format.bytes(transfer.bytes);
  return t("transfers.amount", { done: format.bytes(transfer.bytesDone), all: format.bytes(transfer.bytes) });
}

/** Files of a folder; null for a single file, of which there is nothing to count. */
export function files(transfer: Transfer): string | null {
  if (transfer.files <= 1) return null;
  if (transfer.state === "done" || transfer.state === "offered" || transfer.filesDone === transfer.files) {
    return t("transfers.filesAll", { count: transfer.files });
  }
  return t("transfers.files", { count: transfer.files, done: transfer.filesDone });
}

/** What is told of it in one line, the most telling first. */
export function figures(transfer: Transfer): string[] {
  const parts: (string | null)[] = [amount(transfer)];
  if (transfer.state === "running") {
    if (transfer.rate > 0) parts.push(format.rate(transfer.rate));
    if (transfer.remainingSeconds !== null) {
      parts.push(t("transfers.left", { time: format.duration(transfer.remainingSeconds) }));
    }
  }
  parts.push(files(transfer));
  if (transfer.state === "done" && transfer.destinationDisplay !== null) {
    parts.push(t("transfers.in", { place: transfer.destinationDisplay }));
  }
  return parts.filter((part) => part !== null);
}

/** What comes next, or what to do; null where there is nothing to say. */
export function next(transfer: Transfer): string | null {
  switch (transfer.state) {
    case "running":
    case "done":
      return null;
    case "failed":
      return transfer.direction === "serve"
        ? t("transfers.hint.failedServe", { name: transfer.contact })
        : t("transfers.hint.failed");
    case "offered":
    case "queued":
    case "waiting":
    case "paused":
    case "cancelled":
      return t(`transfers.hint.${transfer.state}`);
  }
}

/** The first line of why it is as it is. */
export function reasonLine(transfer: Transfer): string | null {
  const line = transfer.reason?.split("\n", 1)[0]?.trim() ?? "";
  return line === "" ? null : line;
}
