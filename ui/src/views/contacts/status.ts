// What is told of a contact, from its state.
import type { Contact, Lane } from "../../ipc";

export type Status = "pending" | "connected" | "connecting" | "interrupted" | "online" | "offline" | "unknown";

export function status({ pairing, present, session }: Contact): Status {
  if (session.state !== "offline") return session.state;
  if (pairing === "pending") return "pending";
  if (present === null) return "unknown";
  return present ? "online" : "offline";
}

/** A session, or the wish for one, is what can be ended. */
export const canDisconnect = ({ wanted, session }: Contact): boolean => wanted || session.state !== "offline";

export type LaneSummary = { class: Lane["class"]; count: number; rateIn: number; rateOut: number };

/** The lanes that there are, one line for each class. */
export function laneSummary(lanes: readonly Lane[]): LaneSummary[] {
  const classes: Lane["class"][] = ["control", "urgent", "bulk"];
  return classes.flatMap((kind) => {
    const live = lanes.filter((lane) => lane.class === kind && lane.missing === null);
    if (live.length === 0) return [];
    const sum = (of: (lane: Lane) => number) => live.reduce((total, lane) => total + of(lane), 0);
    return [{ class: kind, count: live.length, rateIn: sum((lane) => lane.rateIn), rateOut: sum((lane) => lane.rateOut) }];
  });
}

/** Why lanes are missing, each reason once. */
export function missingLanes(lanes: readonly Lane[]): { count: number; reasons: string[] } {
  const missing = lanes.flatMap((lane) => (lane.missing === null ? [] : [lane.missing]));
  return { count: missing.length, reasons: [...new Set(missing)] };
}
