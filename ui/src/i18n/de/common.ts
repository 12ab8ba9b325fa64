import type { common as original } from "../en/common";
import type { Translation } from "../message";

export const common: Translation<typeof original> = {
  "common.add": "Hinzufügen",
  "common.back": "Zurück",
  "common.cancel": "Abbrechen",
  "common.close": "Schließen",
  "common.continue": "Weiter",
  "common.copied": "Kopiert",
  "common.copy": "Kopieren",
  "common.diagnostics": "Diagnose öffnen",
  "common.dismiss": "Ausblenden",
  "common.done": "Fertig",
  "common.loading": "Wird geladen …",
  "common.more": "Weitere Aktionen",
  "common.remove": "Entfernen",
  "common.rename": "Umbenennen",
  "common.retry": "Erneut versuchen",
  "common.save": "Speichern",

  "common.path.lan": "LAN",
  "common.path.direct": "Direkt",
  "common.path.punched": "Durch NAT",
  "common.path.relayed": "Über Relay",
  "common.path.lan.hint": "Ihr seid im selben Netzwerk.",
  "common.path.direct.hint": "Ohne Umweg zum anderen Rechner.",
  "common.path.punched.hint": "Ohne Umweg zum anderen Rechner, durch beide Router hindurch.",
  "common.path.relayed.hint": "Über das Relay, das nichts davon lesen kann.",
};
