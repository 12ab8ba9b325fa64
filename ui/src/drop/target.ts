// To whom and how, as the dialog proposes it: from where in the window the files were dropped, and what was chosen last.
export type How = "share" | "send";

export interface Target {
  readonly contact: string | null;
  readonly how: How;
}

export interface Situation {
  readonly contacts: readonly string[];
  /** The view that is shown. */
  readonly view: string;
  /** The contact whose folder the drive view shows, or who is selected. */
  readonly here: string | null;
  readonly last: Target | null;
}

/** What the dialog begins with. Where the files were dropped counts more than what was chosen before. */
export function propose(situation: Situation): Target {
  const known = (name: string | null | undefined): string | null =>
    name !== null && name !== undefined && situation.contacts.includes(name) ? name : null;
  const only = situation.contacts.length === 1 ? situation.contacts[0] : null;
  const contact = known(situation.here) ?? known(only) ?? known(situation.last?.contact);
  switch (situation.view) {
    case "drive":
    case "shares":
      return { contact, how: "share" };
    case "transfers":
      return { contact, how: "send" };
    default:
      return { contact, how: situation.last?.how ?? "share" };
  }
}
