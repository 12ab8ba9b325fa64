import type { app as original } from "../en/app";
import type { Translation } from "../message";

export const app: Translation<typeof original> = {
};
