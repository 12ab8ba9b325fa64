import type { common as original } from "../en/common";
import type { Translation } from "../message";

export const common: Translation<typeof original> = {
};
