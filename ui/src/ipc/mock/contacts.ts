// The contacts of the scenarios, and how their sessions move.
import type { Contact, Lane, PathKind, Session } from "../types";
import { code, type Random } from "./random";

export const OFFLINE: Session = {
  state: "offline",
  path: null,
  transport: null,
  rttMs: null,
  epoch: null,
  reason: null,
  lanes: [],
  ways: [],
  governor: null,
};

const lane = (id: number | null, kind: Lane["class"], path: PathKind, missing: string | null = null): Lane => ({
  id,
  class: kind,
  transport: path === "relayed" ? "tcp" : "quic",
  path,
  bytesIn: kind === "bulk" ? 3_400_000_000 + (id ?? 0) * 41_000_000 : kind === "urgent" ? 268_000_000 : 4_200_000,
  bytesOut: kind === "bulk" ? 96_000_000 : kind === "urgent" ? 7_100_000 : 2_900_000,
  rateIn: 0,
  rateOut: 0,
  missing,
});

export function connected(path: PathKind, rttMs: number, bulk: number): Session {
  const kinds = Array.from({ length: bulk }, (_, index) => lane(2 + index, "bulk", path));
  const lanes = [lane(null, "control", path), lane(1, "urgent", path), ...kinds];
  if (path === "relayed") lanes.push(lane(null, "bulk", path, "The relay gives two connections to one contact, and both are in use."));
  return {
    state: "connected",
    path,
    transport: path === "relayed" ? "tcp" : "quic",
    rttMs,
    epoch: 3,
    reason: null,
    lanes,
    ways:
      path === "relayed"
        ? [
            { path: "lan", transport: "quic", reason: "No answer from 192.168.178.40 within 2 s." },
            { path: "direct", transport: "quic", reason: "No answer within 4 s: a firewall may block UDP." },
            { path: "punched", transport: "quic", reason: "Both routers give every connection another port." },
          ]
        : path === "lan"
          ? []
          : [{ path: "lan", transport: "quic", reason: "Not on the same network." }],
    governor: { window: 16_777_216, outstanding: 0, queued: 0, rate: 0, minRttMs: rttMs * 0.96 },
  };
}

export function contact(name: string, chance: Random, more: Partial<Contact> = {}): Contact {
  return {
    name,
    code: code(chance),
    pairing: "paired",
    present: false,
    wanted: false,
    words: null,
    accept: null,
    session: OFFLINE,
    ...more,
  };
}

export function busyContacts(chance: Random): Contact[] {
  return [
    contact("Anna Lindqvist", chance, {
      present: true,
      wanted: true,
      accept: { path: "/home/sam/Received/Anna", display: "~/Received/Anna" },
      session: connected("punched", 212, 4),
    }),
    contact("Ben Okafor", chance, {
      present: true,
      wanted: true,
      pairing: "provisional",
      words: "amber falcon quiet harbor",
      session: connected("relayed", 328, 2),
    }),
    contact("studio", chance, { present: true, wanted: true, session: connected("lan", 1.2, 4) }),
    contact("Chiara Rossi", chance, { present: true }),
    contact("Dmitri", chance, {
      wanted: true,
      session: {
        ...OFFLINE,
        state: "interrupted",
        reason: "The other machine stopped answering. Farhold connects again as soon as it is back.",
      },
    }),
    contact("Eun-ji Park", chance, { pairing: "pending", present: null, wanted: true }),
  ];
}

export const lost = (one: Contact): Contact => ({ ...one, present: null, session: OFFLINE });

/** One step of time: rates and round trips wander; what is connecting gets there. */
export function step(one: Contact, chance: Random, seconds: number, wantedRate: number): Contact {
  const { session } = one;
  if (session.state === "connecting") {
    return chance.next() < 0.25 ? { ...one, present: true, session: connected("direct", 187, 4) } : one;
  }
  if (session.state !== "connected" || session.rttMs === null) return one;
  const bulks = session.lanes.filter((each) => each.class === "bulk" && each.missing === null).length;
  const lanes = session.lanes.map((each): Lane => {
    if (each.missing !== null) return each;
    const share = each.class === "bulk" ? wantedRate / bulks : each.class === "urgent" ? wantedRate / 12 : 900;
    const rateIn = share * chance.between(0.85, 1.15);
    const rateOut = rateIn * 0.02;
    return { ...each, rateIn, rateOut, bytesIn: each.bytesIn + rateIn * seconds, bytesOut: each.bytesOut + rateOut * seconds };
  });
  const rate = lanes.reduce((sum, each) => sum + each.rateIn, 0);
  const base = session.governor?.minRttMs ?? session.rttMs;
  return {
    ...one,
    session: {
      ...session,
      lanes,
      rttMs: base * chance.between(1.0, 1.08),
      governor: {
        window: 16_777_216,
        outstanding: Math.round(Math.min(16_777_216, (rate * base) / 1000)),
        queued: chance.whole(0, 6),
        rate,
        minRttMs: base,
      },
    },
  };
}
