import type { Translation } from "../message";
import type { drop as english } from "../en/drop";

export const drop: Translation<typeof english> = {
  "drop.overlay.title": "Loslassen zum Teilen oder Senden",
  "drop.overlay.count": { one: "{count} Element", other: "{count} Elemente" },
  "drop.overlay.hint": "Mit wem, wählst du danach.",

  "drop.title": "Teilen oder senden",
  "drop.reading": "Deine Auswahl wird gelesen",
  "drop.what": "Was",
  "drop.files": { one: "{count} Datei, {size}", other: "{count} Dateien, {size}" },
  "drop.folders": { one: "{count} Ordner", other: "{count} Ordner" },
  "drop.and": "{a} und {b}",
  "drop.more": { one: "und {count} weiteres", other: "und {count} weitere" },
  "drop.addFiles": "Dateien …",
  "drop.addFolder": "Ordner …",
  "drop.remove": "{name} weglassen",

  "drop.problems": {
    one: "{count} Element geht so nicht",
    other: "{count} Elemente gehen so nicht",
  },
  "drop.problem.other": "Das ist weder eine Datei noch ein Ordner.",

  "drop.who": "Mit wem",
  "drop.away": "Nicht verbunden",
  "drop.chooseContact": "Wähl einen Kontakt aus",

  "drop.how": "Wie",
  "drop.how.share": "Teilen",
  "drop.how.shareText": "Bleibt hier, erscheint im anderen Laufwerk.",
  "drop.how.send": "Kopie senden",
  "drop.how.sendText": "Wird auf den anderen Rechner kopiert.",

  "drop.writable": "{name} darf es ändern",
  "drop.writableText": "Änderungen und Löschungen betreffen deine Dateien.",
  "drop.name": "Name im Laufwerk von {name}",
  "drop.name.empty": "Gib einen Namen an.",
  "drop.name.slash": "Ein Name kann kein „/“ enthalten.",
  "drop.name.dots": "„.“ und „..“ können keine Namen sein.",
  "drop.name.control": "Ein Name kann keine Steuerzeichen enthalten.",
  "drop.name.long": "Der Name ist zu lang: höchstens 255 Bytes.",
  "drop.name.taken": "Unter diesem Namen teilst du schon etwas mit {name}.",
  "drop.already": {
    one: "„{item}“ teilst du schon mit {name}.",
    other: "{count} davon teilst du schon mit {name}.",
  },
  "drop.awayShare": "{name} ist nicht verbunden und sieht es, sobald ihr wieder verbunden seid.",
  "drop.awaySend": "{name} ist nicht verbunden. Die Kopie wartet, bis ihr wieder verbunden seid.",

  "drop.confirm.share": "Mit {name} teilen",
  "drop.confirm.send": "An {name} senden",
  "drop.confirm.shareNobody": "Teilen",
  "drop.confirm.sendNobody": "Senden",
  "drop.shared": { one: "„{item}“ ist mit {name} geteilt.", other: "{count} Elemente sind mit {name} geteilt." },
  "drop.sent": { one: "„{item}“ ist unterwegs zu {name}.", other: "{count} Elemente sind unterwegs zu {name}." },
  "drop.showShares": "Freigaben zeigen",
  "drop.showTransfers": "Übertragungen zeigen",
  "drop.failed.share": "Nicht geteilt",
  "drop.failed.send": "Nicht gesendet",

  "drop.none.title": "Du hast noch keinen Kontakt",
  "drop.none.text": "Verbinde dich zuerst mit jemandem. Zieh die Dateien danach noch einmal hierher.",
  "drop.none.action": "Kontakt hinzufügen",
  "drop.nothing": "Da ist nichts, was du teilen oder senden könntest.",
  "drop.clipboardEmpty": "In der Zwischenablage sind keine Dateien. Kopiere zuerst welche in deinem Dateimanager.",
};
