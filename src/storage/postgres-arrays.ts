import type { Value } from './db.ts'

/** How a statement names the arrays of a column's values. */
export const arrayTypes = { text: 'text[]', integer: 'bigint[]' } as const

const elementText = (value: Value) => {
  if (value === null) return 'NULL'
  // Beyond the safe integers a number's own text is rounded, and may be out of the range of bigint.
  if (typeof value === 'number')
    return String(Number.isSafeInteger(value) || !Number.isInteger(value) ? value : BigInt(value))
  if (typeof value === 'string') return `"${value.replace(/["\\]/g, '\\$&')}"`
  throw new TypeError('an array holds texts, numbers and nulls')
}

/** The values of a column as the text of a PostgreSQL array. */
export const arrayText = (values: readonly Value[]) => `{${values.map(elementText).join(',')}}`
