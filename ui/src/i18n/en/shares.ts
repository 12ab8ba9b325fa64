export const shares = {
  "shares.title": "Shared by me",
  "shares.count": { one: "{count} share with {contacts}", other: "{count} shares with {contacts}" },
  "shares.addFiles": "Share files…",
  "shares.addFolder": "Share a folder…",
  "shares.filter": "Filter shares",
  "shares.list": "What you share",

  "shares.writable": "Can edit",
  "shares.readOnly": "Read-only",
  "shares.state.scanning": { one: "Scanning, {count} entry so far", other: "Scanning, {count} entries so far" },
  "shares.state.ready": { one: "{count} entry", other: "{count} entries" },
  "shares.state.unavailable": "Not available",
  "shares.unavailableHint": "It was moved, or its disk is not attached. It comes back by itself when it is there again.",

  "shares.open": "Show in file manager",
  "shares.stop": "Stop sharing…",
  "shares.stop.title": { one: "Stop sharing “{name}”?", other: "Stop sharing {count} items?" },
  "shares.stop.text": {
    one: "{contacts} will not see it any more. Your files stay where they are.",
    other: "{contacts} will not see them any more. Your files stay where they are.",
  },
  "shares.stop.confirm": "Stop sharing",
  "shares.stopped": { one: "“{name}” is no longer shared.", other: "{count} items are no longer shared." },

  "shares.empty.title": "You share nothing yet",
  "shares.empty.text": "Drop files or folders anywhere in this window. They stay where they are and appear in your contact’s drive.",
  "shares.empty.noContacts": "To share files you need someone to share them with.",
  "shares.empty.addContact": "Add a contact",
  "shares.empty.filter": "Nothing matches “{text}”",
  "shares.empty.clear": "Clear the filter",
} as const;
