// The transfers of the scenarios, and how they go on.
import type { Transfer } from "../types";
import type { Random } from "./random";

const MB = 1_000_000;

function transfer(id: number, more: Partial<Transfer> & Pick<Transfer, "name" | "contact">): Transfer {
  return {
    id,
    direction: "pull",
    state: "done",
    reason: null,
    filesDone: 1,
    files: 1,
    bytesDone: 0,
    bytes: 0,
    rate: 0,
    remainingSeconds: null,
    destination: "/home/sam/Downloads",
    destinationDisplay: "~/Downloads",
    ...more,
  };
}

export function busyTransfers(): Transfer[] {
  const anna = "Anna Lindqvist";
  return [
    transfer(1, { contact: "studio", name: "Backup 2026-11-20", files: 3210, filesDone: 3210, bytes: 18_200 * MB, bytesDone: 18_200 * MB }),
    transfer(2, { contact: anna, name: "Contract.pdf", direction: "push", bytes: 1.2 * MB, bytesDone: 1.2 * MB, destination: null, destinationDisplay: null }),
    transfer(3, {
      contact: "Ben Okafor",
      name: "Master tapes",
      state: "failed",
      files: 48,
      filesDone: 31,
      bytes: 96_000 * MB,
      bytesDone: 61_400 * MB,
      reason: "The disk is full: 34.6 GB more are needed at ~/Downloads. Make room, then resume; what is there already is kept.",
    }),
    transfer(4, { contact: anna, name: "Old proofs", state: "cancelled", files: 12, filesDone: 3, bytes: 900 * MB, bytesDone: 210 * MB }),
    transfer(5, { contact: "Chiara Rossi", name: "Sound library", state: "waiting", files: 640, filesDone: 120, bytes: 12_400 * MB, bytesDone: 2_300 * MB, reason: "Chiara Rossi is not connected. It goes on by itself when she is." }),
    transfer(6, { contact: "studio", name: "Renders", direction: "push", state: "paused", files: 96, filesDone: 40, bytes: 7_200 * MB, bytesDone: 3_100 * MB, destination: null, destinationDisplay: null }),
    transfer(7, { contact: anna, name: "Footage 2026-11", state: "running", files: 28, filesDone: 11, bytes: 74_000 * MB, bytesDone: 29_400 * MB }),
    transfer(8, { contact: "studio", name: "Stills for print", direction: "serve", state: "running", files: 180, filesDone: 64, bytes: 5_400 * MB, bytesDone: 1_900 * MB, destination: null, destinationDisplay: null }),
    transfer(9, { contact: anna, name: "Photos – Lofoten", state: "queued", files: 240, filesDone: 0, bytes: 5_100 * MB }),
    transfer(10, { contact: "Ben Okafor", name: "Demo mixes", direction: "receive", state: "offered", files: 14, filesDone: 0, bytes: 860 * MB, destination: null, destinationDisplay: null }),
  ];
}

export function manyTransfers(count: number, chance: Random): Transfer[] {
  return Array.from({ length: count }, (_, index) => {
    const bytes = chance.whole(1, 4_000) * MB;
    const state: Transfer["state"] = index > count - 8 ? "running" : chance.pick(["done", "done", "done", "done", "failed", "cancelled"]);
    return transfer(index + 1, {
      contact: chance.pick(["Anna Lindqvist", "Ben Okafor", "studio"]),
      name: `Delivery ${String(index + 1).padStart(5, "0")}`,
      direction: chance.pick(["pull", "push", "receive"]),
      state,
      bytes,
      bytesDone: state === "done" ? bytes : Math.floor(bytes * chance.next() * 0.9),
      reason: state === "failed" ? "The other side stopped sharing it. Ask for it again, then resume." : null,
    });
  });
}

/** One step of time. The same object when nothing moves. */
export function step(one: Transfer, chance: Random, seconds: number): Transfer {
  if (one.state !== "running") return one;
  const target = one.contact === "studio" ? 88 * MB : 24 * MB;
  const rate = (one.rate === 0 ? target : one.rate * 0.8 + target * 0.2) * chance.between(0.9, 1.1);
  const bytesDone = Math.min(one.bytes, Math.round(one.bytesDone + rate * seconds));
  if (bytesDone === one.bytes) {
    return { ...one, state: "done", bytesDone, filesDone: one.files, rate: 0, remainingSeconds: null };
  }
  return {
    ...one,
    bytesDone,
    filesDone: Math.max(one.filesDone, Math.floor((bytesDone / one.bytes) * one.files)),
    rate,
    remainingSeconds: (one.bytes - bytesDone) / rate,
  };
}
