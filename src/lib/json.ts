/** A JSON object of unknown shape. */
export type Json = Record<string, unknown>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A switch that a client set, in a query or in a body. */
export const isTrue = (value: unknown) => value === true || value === 'true'

/**
 * How data come to whoever judges them: lent, so that they stay as they are; or given away. Texts of what was given may be known
 * to hold neither NUL nor half of a surrogate pair.
 */
export type Handover = 'lent' | 'given' | 'given with sound texts'

/** A container this deep inside others is refused: no record needs it, and recursion must stay bounded. */
export const maxDepth = 64

/** A number holds larger integers only approximately, and JSON has no infinite numbers. */
export const isExactNumber = (value: number) =>
  Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** The members that have a value. */
export const present = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Present<T>

/** Whether two values have the same JSON text; the order of keys counts. */
export const sameJson = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
