import { app } from "./app";
import { cache } from "./cache";
import { common } from "./common";
import { contacts } from "./contacts";
import { diagnostics } from "./diagnostics";
import { drive } from "./drive";
import { drop } from "./drop";
import { pairing } from "./pairing";
import { performance } from "./performance";
import { settings } from "./settings";
import { shares } from "./shares";
import { start } from "./start";
import { transfers } from "./transfers";

export const en = {
  ...app,
  ...common,
  ...contacts,
  ...pairing,
  ...start,
  ...drive,
  ...drop,
  ...shares,
  ...transfers,
  ...performance,
  ...cache,
  ...settings,
  ...diagnostics,
} as const;
