import type { start as original } from "../en/start";
import type { Translation } from "../message";

export const start: Translation<typeof original> = {
  "start.step": "Schritt {step} von {steps}",
  "start.skip": "Einrichtung überspringen",

  "start.welcome.title": "Willkommen bei Farhold",
  "start.welcome.text": "Ein gemeinsames Laufwerk für dich und Menschen, die du kennst.",
  "start.welcome.place.title": "Dateien bleiben, wo sie sind",
  "start.welcome.place.text": "Was jemand teilt, erscheint in deinem Laufwerk. Nur was du öffnest, geht über die Leitung.",
  "start.welcome.far.title": "Nah, egal wie fern",
  "start.welcome.far.text": "Für lange Wege gemacht: Du springst in einem Film am anderen Ende der Welt umher.",
  "start.welcome.private.title": "Nur für euch zwei",
  "start.welcome.private.text": "Von Ende zu Ende verschlüsselt. Kein Konto, kein Server, der mitliest.",
  "start.welcome.begin": "Einrichten",
  "start.welcome.demo": "Mit einem Demo-Kontakt ausprobieren",
  "start.welcome.demoHint": "Die Demo läuft nur auf diesem Rechner und hinterlässt nichts.",

  "start.relay.title": "Wähle ein Relay",
  "start.relay.text": "Es macht eure Rechner miteinander bekannt und hilft aus, wo kein direkter Weg geht. Es erfährt keine Namen und kann nichts lesen. Du und deine Kontakte braucht dasselbe.",
  "start.relay.label": "Adresse des Relays",
  "start.relay.hint": "HOST oder HOST:PORT. Frag, wer es betreibt, oder betreibe selbst eines: farhold-relay.",
  "start.relay.test": "Testen",
  "start.relay.good": "Es antwortet nach {time}.",
  "start.relay.later": "Später",

  "start.drive.title": "Dein Laufwerk",
  "start.drive.text": "Jeder Kontakt ist darin ein Ordner.",
  "start.drive.at": "Ort",
  "start.drive.mounted": "Das Laufwerk ist da.",
  "start.drive.mount": "Laufwerk einhängen",
  "start.drive.mounting": "Das Laufwerk wird eingehängt …",
  "start.drive.failed": "Das Laufwerk konnte nicht eingehängt werden",
  "start.drive.open": "Im Dateimanager öffnen",
  "start.drive.check": "Ohne FUSE geht es nicht. Die Diagnose sagt, was fehlt; du findest sie nach der Einrichtung im Fenster.",

  "start.contact.title": "Jemand zum Teilen",
  "start.contact.text": "Gebt einander eure Codes. Das geht auch später.",
  "start.contact.add": "Kontakt hinzufügen",
  "start.contact.added": { one: "Ein Kontakt wurde hinzugefügt.", other: "{count} Kontakte wurden hinzugefügt." },
  "start.contact.demo": "Demo-Kontakt ausprobieren",
  "start.finish": "Farhold öffnen",

  "start.failed": "Farhold konnte nicht starten",
};
