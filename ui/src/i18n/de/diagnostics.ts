import type { diagnostics as original } from "../en/diagnostics";
import type { Translation } from "../message";

export const diagnostics: Translation<typeof original> = {
  "diagnostics.title": "Diagnose",

  "diagnostics.doctor.title": "Prüfung",
  "diagnostics.doctor.note": "Sieht nach, was Farhold auf diesem Rechner braucht.",
  "diagnostics.doctor.again": "Erneut prüfen",
  "diagnostics.doctor.running": "Wird geprüft …",
  "diagnostics.doctor.impossible": "Die Prüfung war nicht möglich",
  "diagnostics.doctor.good": "Alles, was geprüft wurde, funktioniert.",
  "diagnostics.doctor.bad": {
    one: "{count} Prüfung ist gescheitert.",
    other: "{count} Prüfungen sind gescheitert.",
  },
  "diagnostics.doctor.warnings": {
    one: "Funktioniert, mit {count} Hinweis.",
    other: "Funktioniert, mit {count} Hinweisen.",
  },
  "diagnostics.doctor.ok": "Funktioniert",
  "diagnostics.doctor.warning": "Hinweis",
  "diagnostics.doctor.failed": "Gescheitert",
  "diagnostics.doctor.fix": "Was zu tun ist",
  "diagnostics.doctor.copy": "Kopieren, was zu tun ist: {check}",

  "diagnostics.export.title": "Bericht",
  "diagnostics.export.note":
    "Versionen, Prüfungen, Zustände und das letzte Protokoll, für jemanden, der hilft. Namen, Pfade, Adressen und Codes sind entfernt.",
  "diagnostics.export.preview": "Vorschau …",
  "diagnostics.export.save": "Speichern …",
  "diagnostics.export.content": "Inhalt des Berichts",
  "diagnostics.export.saved": "Der Bericht ist gespeichert.",
  "diagnostics.export.show": "Im Ordner zeigen",

  "diagnostics.about.title": "Über Farhold",
  "diagnostics.about.version": "Version",
  "diagnostics.about.engine": "Dienst",
  "diagnostics.about.engine.hosted": "in diesem Fenster",
  "diagnostics.about.engine.attached": "in einem eigenen Prozess",
  "diagnostics.about.engine.starting": "startet",
  "diagnostics.about.engine.stopping": "wird beendet",
  "diagnostics.about.engine.failed": "gescheitert",
  "diagnostics.about.secrets": "Geheimnisse",
  "diagnostics.about.secrets.file": "in einer Datei, die nur du lesen kannst",
  "diagnostics.about.secrets.keychain": "im Schlüsselbund des Systems",
  "diagnostics.about.relay": "Relay",
  "diagnostics.about.relay.none": "keines eingestellt",
  "diagnostics.about.relay.connecting": "wird verbunden",
  "diagnostics.about.relay.connected": "verbunden",
  "diagnostics.about.relay.unreachable": "nicht erreichbar",
  "diagnostics.about.listen": "Lauscht an Port",
  "diagnostics.about.listen.none": "keinem",
  "diagnostics.about.licence": "Lizenz",
  "diagnostics.about.licence.note":
    "Farhold ist freie Software unter der GNU General Public License, Version 3 oder später. Es gibt keinerlei Gewährleistung.",
  "diagnostics.about.notices": "Lizenzen der Bestandteile",
  "diagnostics.about.notices.show": "Lizenzen der Bestandteile …",
  "diagnostics.about.notices.note": "Bibliotheken, aus denen Farhold besteht, und ihre Lizenzen.",
  "diagnostics.about.notices.filter": "Filtern",
};
