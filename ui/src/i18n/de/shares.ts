import type { Translation } from "../message";
import type { shares as english } from "../en/shares";

export const shares: Translation<typeof english> = {
  "shares.title": "Von mir geteilt",
  "shares.count": { one: "{count} Freigabe für {contacts}", other: "{count} Freigaben für {contacts}" },
  "shares.addFiles": "Dateien teilen …",
  "shares.addFolder": "Ordner teilen …",
  "shares.filter": "Freigaben filtern",
  "shares.list": "Was du teilst",

  "shares.writable": "Darf ändern",
  "shares.readOnly": "Nur lesen",
  "shares.state.scanning": {
    one: "Wird eingelesen, bisher {count} Eintrag",
    other: "Wird eingelesen, bisher {count} Einträge",
  },
  "shares.state.ready": { one: "{count} Eintrag", other: "{count} Einträge" },
  "shares.state.unavailable": "Nicht verfügbar",
  "shares.unavailableHint":
    "Es wurde verschoben, oder der Datenträger ist nicht angeschlossen. Sobald es wieder da ist, geht es von selbst weiter.",

  "shares.open": "Im Dateimanager zeigen",
  "shares.stop": "Nicht mehr teilen …",
  "shares.stop.title": { one: "„{name}“ nicht mehr teilen?", other: "{count} Freigaben beenden?" },
  "shares.stop.text": {
    one: "{contacts} sieht es dann nicht mehr. Deine Dateien bleiben, wo sie sind.",
    other: "Dann nicht mehr zu sehen für: {contacts}. Deine Dateien bleiben, wo sie sind.",
  },
  "shares.stop.confirm": "Nicht mehr teilen",
  "shares.stopped": { one: "„{name}“ wird nicht mehr geteilt.", other: "{count} Freigaben sind beendet." },

  "shares.empty.title": "Du teilst noch nichts",
  "shares.empty.text":
    "Zieh Dateien oder Ordner irgendwo in dieses Fenster. Sie bleiben, wo sie sind, und erscheinen im Laufwerk deines Kontakts.",
  "shares.empty.noContacts": "Zum Teilen brauchst du jemanden, mit dem du teilst.",
  "shares.empty.addContact": "Kontakt hinzufügen",
  "shares.empty.filter": "Nichts passt zu „{text}“",
  "shares.empty.clear": "Filter löschen",
};
