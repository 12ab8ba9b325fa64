import type { pairing as original } from "../en/pairing";
import type { Translation } from "../message";

export const pairing: Translation<typeof original> = {
};
