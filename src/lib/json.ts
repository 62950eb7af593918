/** A JSON object of unknown shape. */
export type Json = Record<string, unknown>

/** A container this deep inside others is refused: no record needs it, and recursion must stay bounded. */
export const maxDepth = 64
