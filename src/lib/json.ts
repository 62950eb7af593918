/** A JSON object of unknown shape. */
export type Json = Record<string, unknown>
