import type { app as original } from "../en/app";
import type { Translation } from "../message";

export const app: Translation<typeof original> = {
  "app.views": "Ansichten",
  "app.status": "Zustand von Farhold",
  "app.demo": "Demo",
  "app.demo.stop": "Demo beenden",

  "app.engine.starting": "Startet …",
  "app.engine.running": "Läuft",
  "app.engine.failed": "Läuft nicht",
  "app.engine.stopping": "Wird beendet …",
  "app.engine.attached": "Läuft auch ohne dieses Fenster",

  "engine.startingTitle": "Farhold startet",
  "engine.starting": "Das dauert einen Moment.",
  "engine.stoppingTitle": "Farhold wird beendet",
  "engine.stopping": "Das Laufwerk wird ausgehängt, Verbindungen werden geschlossen.",
  "engine.failedTitle": "Farhold läuft nicht",
  "engine.failed": "Die Diagnose sagt, was fehlt.",
  "engine.restart": "Neu starten",

  "app.relay.none": "Kein Relay eingestellt",
  "app.relay.connecting": "Verbindet mit dem Relay …",
  "app.relay.connected": "Relay verbunden",
  "app.relay.unreachable": "Relay nicht erreichbar",

  "app.rate.in": "Empfängt {rate}",
  "app.rate.out": "Sendet {rate}",

  "app.badge.connected": "{count} verbunden",
  "app.badge.shares": { one: "{count} Freigabe", other: "{count} Freigaben" },
  "app.badge.active": "{count} im Gange",
  "app.badge.offered": { one: "{count} Angebot offen", other: "{count} Angebote offen" },

  "app.keys": "Tastenkürzel",
  "app.keys.views": "Ansicht wechseln",
  "app.keys.everywhere": "Überall",
  "app.keys.lists": "In Listen",
  "app.keys.help": "Diese Tastenkürzel zeigen",
  "app.keys.add": "Kontakt hinzufügen",
  "app.keys.paste": "Kopierte Dateien teilen oder senden",
  "app.keys.filter": "Liste filtern",
  "app.keys.escape": "Dialog oder Menü schließen",
  "app.keys.move": "Bewegen",
  "app.keys.ends": "Erste, letzte Zeile",
  "app.keys.open": "Öffnen",
  "app.keys.extend": "Mehr auswählen",
  "app.keys.all": "Alles auswählen",
  "app.keys.delete": "Entfernen oder abbrechen",
  "app.keys.menu": "Menü der Zeile",
  "app.key.ctrl": "Strg",
  "app.key.shift": "Umschalt",
  "app.key.enter": "Eingabe",
  "app.key.escape": "Esc",
  "app.key.delete": "Entf",
  "app.key.home": "Pos1",
  "app.key.end": "Ende",
  "app.key.or": "oder",

  "app.close.title": "Farhold weiterlaufen lassen?",
  "app.close.text":
    "Auf diesem Desktop gibt es keinen Infobereich, in dem Farhold bleiben könnte. Es kann ohne Fenster weiterlaufen: Das Laufwerk bleibt, und Übertragungen gehen weiter. Starte Farhold noch einmal, um das Fenster zurückzuholen.",
  "app.close.hide": "Weiterlaufen lassen",
  "app.close.quit": "Beenden",

  "app.held.title": "Das Laufwerk ist in Gebrauch",
  "app.held.text":
    "Schließe diese Dateien und beende dann noch einmal. Wenn du trotzdem beendest, bekommen die Programme Fehler, und was sie nicht gespeichert haben, ist verloren.",
  "app.held.program": "Programm",
  "app.held.file": "Datei oder Ordner",
  "app.held.again": "Erneut versuchen",
  "app.held.force": "Trotzdem beenden",

  "app.link.unknown": "Diesen Link kennt Farhold nicht. Lass dir den Code selbst geben und füge ihn ein.",
};
