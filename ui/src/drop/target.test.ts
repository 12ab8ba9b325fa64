import { describe, expect, it } from "vitest";
import { propose, type Situation } from "./target";

const SITUATION: Situation = { contacts: ["Mia", "Ben"], view: "contacts", here: null, last: null };

describe("what is proposed", () => {
  it("is nobody when there are several to choose from", () => {
    expect(propose(SITUATION)).toEqual({ contact: null, how: "share" });
  });

  it("is the only contact, the one chosen last, or the one whose folder is shown", () => {
    expect(propose({ ...SITUATION, contacts: ["Mia"] }).contact).toBe("Mia");
    expect(propose({ ...SITUATION, last: { contact: "Ben", how: "send" } })).toEqual({ contact: "Ben", how: "send" });
    expect(propose({ ...SITUATION, here: "Mia", last: { contact: "Ben", how: "send" } }).contact).toBe("Mia");
  });

  it("is no contact that is gone", () => {
    expect(propose({ ...SITUATION, here: "Zoe", last: { contact: "Zoe", how: "share" } }).contact).toBeNull();
  });

  it("follows the view", () => {
    const last = { contact: null, how: "send" } as const;
    expect(propose({ ...SITUATION, view: "shares", last }).how).toBe("share");
    expect(propose({ ...SITUATION, view: "drive", last }).how).toBe("share");
    expect(propose({ ...SITUATION, view: "transfers" }).how).toBe("send");
    expect(propose({ ...SITUATION, last }).how).toBe("send");
  });
});
