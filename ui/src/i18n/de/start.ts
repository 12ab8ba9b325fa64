import type { start as original } from "../en/start";
import type { Translation } from "../message";

export const start: Translation<typeof original> = {
};
