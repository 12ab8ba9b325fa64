// The first run: from nothing to a mounted drive and somebody to share with.
export const start = {
  "start.step": "Step {step} of {steps}",
  "start.skip": "Skip the set-up",

  "start.welcome.title": "Welcome to Farhold",
  "start.welcome.text": "A shared drive between you and people you know.",
  "start.welcome.place.title": "Files stay where they are",
  "start.welcome.place.text": "What somebody shares appears in your drive. Only what you open travels.",
  "start.welcome.far.title": "Near, however far",
  "start.welcome.far.text": "Made for long links: you can jump around in a film on the other side of the world.",
  "start.welcome.private.title": "Only for you two",
  "start.welcome.private.text": "Encrypted from end to end. No account, no server that can read along.",
  "start.welcome.begin": "Set up",
  "start.welcome.demo": "Try it with a demo peer",
  "start.welcome.demoHint": "The demo runs on this machine alone and leaves nothing behind.",

  "start.relay.title": "Choose a relay",
  "start.relay.text": "It introduces your machines to each other, and helps out where no direct way works. It learns no names and can read nothing. You and your contacts need the same one.",
  "start.relay.label": "Address of the relay",
  "start.relay.hint": "HOST or HOST:PORT. Ask whoever runs it, or run one yourself: farhold-relay.",
  "start.relay.test": "Test",
  "start.relay.good": "It answers after {time}.",
  "start.relay.later": "Later",

  "start.drive.title": "Your drive",
  "start.drive.text": "Every contact is a folder in it.",
  "start.drive.at": "Place",
  "start.drive.mounted": "The drive is there.",
  "start.drive.mount": "Mount the drive",
  "start.drive.mounting": "The drive is being mounted…",
  "start.drive.failed": "The drive could not be mounted",
  "start.drive.open": "Open in the file manager",
  "start.drive.check": "It does not work without FUSE. Diagnostics tells what is missing; you find it in the window after the set-up.",

  "start.contact.title": "Somebody to share with",
  "start.contact.text": "Give each other your codes. You can also do this later.",
  "start.contact.add": "Add a contact",
  "start.contact.added": { one: "One contact was added.", other: "{count} contacts were added." },
  "start.contact.demo": "Try the demo peer",
  "start.finish": "Open Farhold",

  "start.failed": "The engine could not start",
} as const;
