import type { pairing as original } from "../en/pairing";
import type { Translation } from "../message";

export const pairing: Translation<typeof original> = {
  "pairing.title": "Kontakt hinzufügen",
  "pairing.mine.title": "Gib deinen Code weiter",
  "pairing.mine.text": "Auf einem Weg, dem du vertraust: persönlich, am Telefon oder per Messenger. Wer ihn hat, kann nur um die Kopplung bitten.",
  "pairing.mine.label": "Mein Code",
  "pairing.qr.show": "Als QR-Code zeigen",
  "pairing.qr.hide": "QR-Code ausblenden",
  "pairing.qr.alt": "Mein Code als QR-Code",

  "pairing.theirs.title": "Gib den anderen Code ein",
  "pairing.code.label": "Code des Kontakts",
  "pairing.code.placeholder": "Füge den Code ein, den du bekommen hast",
  "pairing.code.good": "Das ist ein vollständiger Code.",
  "pairing.code.length": {
    one: "Ein Code hat 86 Zeichen, dieser {count}. Kopiere ihn noch einmal ganz.",
    other: "Ein Code hat 86 Zeichen, dieser {count}. Kopiere ihn noch einmal ganz.",
  },
  "pairing.code.character": "Das ist kein Code: Er hat nur Buchstaben, Ziffern, - und _. Kopiere ihn noch einmal.",
  "pairing.code.own": "Das ist dein eigener Code. Gib den ein, den du bekommen hast.",
  "pairing.code.known": "Das ist der Code von {name}; dieser Kontakt ist schon da.",
  "pairing.name.label": "Name",
  "pairing.name.hint": "Wie du magst; so heißt dann der Ordner des Kontakts in deinem Laufwerk.",
  "pairing.name.taken": "Einen Kontakt mit diesem Namen gibt es schon. Wähle einen anderen.",

  "pairing.added.waiting": "Warten auf {name}",
  "pairing.added.text": "{name} wurde hinzugefügt. Sobald auch dein Code dort hinzugefügt ist und ihr beide online seid, seid ihr gekoppelt. Du musst hier nicht warten.",
  "pairing.added.paired": "Du bist mit {name} gekoppelt",
  "pairing.another": "Noch einen hinzufügen",
};
