export const pairing = {
} as const;
