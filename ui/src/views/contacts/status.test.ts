import { expect, test } from "vitest";
import { connected, contact } from "../../ipc/mock/contacts";
import { random } from "../../ipc/mock/random";
import { canDisconnect, laneSummary, missingLanes, status } from "./status";

const one = (more: Parameters<typeof contact>[2]) => contact("Anna", random(1), more);

test("a session says more than presence, and presence more than nothing", () => {
  expect(status(one({ session: connected("lan", 1, 1) }))).toBe("connected");
  expect(status(one({ pairing: "pending", present: null }))).toBe("pending");
  expect(status(one({ present: true }))).toBe("online");
  expect(status(one({ present: false }))).toBe("offline");
  expect(status(one({ present: null }))).toBe("unknown");
});

test("what is wanted or there can be ended", () => {
  expect(canDisconnect(one({}))).toBe(false);
  expect(canDisconnect(one({ wanted: true }))).toBe(true);
  expect(canDisconnect(one({ session: connected("lan", 1, 1) }))).toBe(true);
});

test("lanes are summed by class, missing ones told apart", () => {
  const { lanes } = connected("relayed", 300, 2);
  const moving = lanes.map((lane) => ({ ...lane, rateIn: 10, rateOut: 1 }));
  expect(laneSummary(moving)).toEqual([
    { class: "control", count: 1, rateIn: 10, rateOut: 1 },
    { class: "urgent", count: 1, rateIn: 10, rateOut: 1 },
    { class: "bulk", count: 2, rateIn: 20, rateOut: 2 },
  ]);
  expect(missingLanes(lanes).count).toBe(1);
  expect(missingLanes(lanes).reasons).toHaveLength(1);
});
