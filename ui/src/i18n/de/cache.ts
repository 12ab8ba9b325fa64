import type { cache as original } from "../en/cache";
import type { Translation } from "../message";

export const cache: Translation<typeof original> = {
  "cache.title": "Cache",
  "cache.subtitle": "Was von fernen Dateien auf diesem Rechner liegt",

  "cache.use.title": "Platz",
  "cache.use.used": "{used} von {limit} belegt",
  "cache.use.pinned": "{bytes} angeheftet",
  "cache.use.other": "{bytes} behalten, solange Platz ist",
  "cache.use.free": "{bytes} frei",
  "cache.use.meter": "Belegung des Caches",
  "cache.use.disk": "{bytes} auf dem Datenträger frei",
  "cache.low.title": "Der Datenträger ist fast voll",
  "cache.low.message":
    "Neue Blöcke verdrängen ältere, und wenn das nicht reicht, werden sie nicht behalten. Schaffe Platz auf dem Datenträger oder senke die Grenze.",
  "cache.figure.hitRate": "Trefferquote",
  "cache.figure.hitRate.note": "der gelesenen Blöcke waren schon da",
  "cache.figure.hits": "{hits} von {all} Blöcken",
  "cache.figure.served": "An Programme gegeben",
  "cache.figure.fetched": "Geholt",
  "cache.figure.saved": "Gespart",
  "cache.figure.saved.note": "{percent} von dem, was Programme bekamen",
  "cache.figure.none": "noch keine",

  "cache.limit.label": "Grenze",
  "cache.limit.change": "Grenze des Caches",
  "cache.limit.hint": "Zum Beispiel 20 GB. Eine niedrigere Grenze gilt sofort.",
  "cache.limit.action": "Grenze ändern …",
  "cache.limit.save": "Grenze setzen",
  "cache.limit.done": "Der Cache darf jetzt {limit} belegen.",
  "cache.drop.action": "Alles verwerfen …",
  "cache.drop.title": "Alles im Cache verwerfen?",
  "cache.drop.message":
    "{bytes} werden von diesem Rechner entfernt und beim Lesen neu geholt. Angeheftete Dateien bleiben. Es geht nichts verloren.",
  "cache.drop.confirm": "{bytes} verwerfen",
  "cache.drop.done": "Der Cache ist geleert.",

  "cache.pins.title": "Angeheftet",
  "cache.pins.note": "Liegt vollständig auf diesem Rechner und wird aktuell gehalten.",
  "cache.pins.none": "Nichts ist angeheftet. Hefte im Laufwerk eine Datei oder einen Ordner an, um sie immer hier zu haben.",
  "cache.pins.files": {
    one: "{count} Datei",
    other: "{count} Dateien",
  },
  "cache.pins.amount": "{cached} von {bytes}",
  "cache.pins.fetching": "Wird geholt",
  "cache.pins.whole": "Vollständig",
  "cache.pins.waiting": "Wartet auf den Kontakt",
  "cache.pins.noRoom": "Passt nicht hinein",
  "cache.pins.gone": "Nicht mehr da",
  "cache.pins.unpin": "Lösen",
  "cache.pins.unpin.of": "{name} lösen",
  "cache.pins.unpinned": "{name} ist nicht mehr angeheftet.",
  "cache.pins.progress": "Geholt von {name}",

  "cache.open.title": "Offene Dateien",
  "cache.open.note": "Was Programme gerade lesen und welche Teile davon hier sind.",
  "cache.open.none": "Keine Datei vom Laufwerk ist offen.",
  "cache.open.list": "Offene Dateien",
  "cache.open.opens": {
    one: "einmal offen",
    other: "{count}-mal offen",
  },
  "cache.open.hitRate": "{percent} aus dem Cache",
  "cache.open.cached": "{percent} hier",
  "cache.open.detail": "Blöcke von {name}",
  "cache.open.cell": {
    one: "Jedes Kästchen ist ein Block von {bytes}.",
    other: "Jedes Kästchen sind {count} Blöcke, {bytes}.",
  },
  "cache.open.summary":
    "{name}: {cached} von {size} hier, {demand} gerade angefragt, {ahead} werden vorausgelesen, {missing} fehlen.",
  "cache.open.playheads": "Gelesen wird bei {places}.",

  "cache.block.cached": "Hier",
  "cache.block.part": "Teilweise hier",
  "cache.block.ahead": "Wird vorausgelesen",
  "cache.block.demand": "Gerade angefragt",
  "cache.block.missing": "Fehlt",
  "cache.block.playhead": "Hier wird gelesen",
};
