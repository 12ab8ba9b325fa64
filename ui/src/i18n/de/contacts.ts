import type { contacts as original } from "../en/contacts";
import type { Translation } from "../message";

export const contacts: Translation<typeof original> = {
  "contacts.title": "Kontakte",
};
