/** What the shell is told: 0 it went well, 1 it broke while running, 2 it was asked for something that makes no sense. */
export const exitCodes = { fine: 0, failed: 1, misused: 2 } as const
