export const contacts = {
  "contacts.title": "Contacts",
} as const;
