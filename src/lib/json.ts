/** A JSON object of unknown shape. */
export type Json = Record<string, unknown>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A switch that a client set, in a query or in a body. */
export const isTrue = (value: unknown) => value === true || value === 'true'

/** A container this deep inside others is refused: no record needs it, and recursion must stay bounded. */
export const maxDepth = 64
