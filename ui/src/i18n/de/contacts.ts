import type { contacts as original } from "../en/contacts";
import type { Translation } from "../message";

export const contacts: Translation<typeof original> = {
  "contacts.title": "Kontakte",
  "contacts.add": "Kontakt hinzufügen",
  "contacts.list": "Kontakte",
  "contacts.details": "Über {name}",

  "contacts.empty.title": "Noch niemand da",
  "contacts.empty.text": "Füge jemanden hinzu, mit dem du Dateien teilen willst. Ihr gebt einander einmal einen Code; danach erscheinen eure geteilten Dateien im Laufwerk des anderen.",
  "contacts.empty.demo": "Mit einem Demo-Kontakt ausprobieren",

  "contacts.offline.title": "Das Relay antwortet nicht",
  "contacts.offline.text": "Kontakte außerhalb dieses Netzwerks sind so lange nicht zu finden.",
  "contacts.norelay.title": "Kein Relay eingestellt",
  "contacts.norelay.text": "Kontakte brauchen eines, um einander zu finden.",
  "contacts.relay.settings": "Einstellungen öffnen",

  "contacts.status.pending": "Noch nicht gekoppelt",
  "contacts.status.connected": "Verbunden",
  "contacts.status.connecting": "Verbindet …",
  "contacts.status.interrupted": "Verbindung abgerissen, neuer Versuch läuft",
  "contacts.status.online": "Online",
  "contacts.status.offline": "Offline",
  "contacts.status.unknown": "Unbekannt, ob online",

  "contacts.connect": "Verbinden",
  "contacts.disconnect": "Trennen",
  "contacts.browse": "Im Laufwerk zeigen",
  "contacts.share": "Teilen oder senden …",
  "contacts.copyCode": "Code kopieren",
  "contacts.codeCopied": "Der Code von {name} ist in der Zwischenablage.",
  "contacts.rename": "Umbenennen …",
  "contacts.remove": "Entfernen …",
  "contacts.noFolder": "{name} teilt noch nichts mit dir.",

  "contacts.pending.title": "Noch nicht gekoppelt",
  "contacts.pending.text": "{name} muss auch deinen Code hinzufügen. Sobald beide das getan haben und online sind, seid ihr gekoppelt.",
  "contacts.pending.mine": "Meinen Code zeigen",

  "contacts.words.title": "Vergleicht diese Wörter",
  "contacts.words.text": "Frag {name}, am besten am Telefon, welche Wörter dort stehen. Sind es dieselben, sitzt niemand zwischen euch. Wenn nicht, entferne den Kontakt und koppelt noch einmal.",

  "contacts.connection": "Verbindung",
  "contacts.roundTrip": "Umlaufzeit",
  "contacts.path": "Weg",
  "contacts.transport.quic": "QUIC",
  "contacts.transport.tcp": "TCP",
  "contacts.performance": "Leistung zeigen",
  "contacts.lanes.class": "Spur",
  "contacts.lanes.in": "Empfängt",
  "contacts.lanes.out": "Sendet",
  "contacts.lane.control": { one: "Steuerung", other: "{count} × Steuerung" },
  "contacts.lane.urgent": { one: "Dringend", other: "{count} × dringend" },
  "contacts.lane.bulk": { one: "Massendaten", other: "{count} × Massendaten" },
  "contacts.lanes.missing": { one: "Eine Spur fehlt.", other: "{count} Spuren fehlen." },
  "contacts.ways": "Warum kein kürzerer Weg",

  "contacts.accept": "Dateien, die {name} sendet",
  "contacts.accept.ask": "Du wirst jedes Mal gefragt.",
  "contacts.accept.folder": "Sie kommen ohne Nachfrage nach {folder}.",
  "contacts.accept.choose": "Ordner wählen …",
  "contacts.accept.stop": "Jedes Mal fragen",

  "contacts.code": "Code von {name}",

  "contacts.rename.title": "{name} umbenennen",
  "contacts.rename.label": "Name",
  "contacts.rename.hint": "So heißt auch der Ordner in deinem Laufwerk. {name} sieht den Namen nicht.",

  "contacts.remove.title": "{name} entfernen?",
  "contacts.remove.text": "Ihr seht die Dateien des anderen nicht mehr, und Übertragungen zwischen euch enden. Um wieder zu teilen, koppelt ihr neu. Kopierte Dateien bleiben.",
};
