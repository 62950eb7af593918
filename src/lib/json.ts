export type Json = Record<string, unknown>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** In a query or a body. */
export const isTrue = (value: unknown) => value === true || value === 'true'

/** Lent data must not be changed. Texts of given data may be known to be storable. */
export type Handover = 'lent' | 'given' | 'given with sound texts'

/** Deeper containers are rejected, so that recursion is bounded. */
export const maxDepth = 64

/** Larger integers are inexact, and JSON has no infinity. */
export const isExactNumber = (value: number) =>
  Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

export const present = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Present<T>

/** The order of keys counts. */
export const sameJson = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
