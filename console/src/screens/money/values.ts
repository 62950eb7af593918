import i18next from 'i18next'
import { isObject } from '../../lib/json.ts'

/** What is known of a line whose type says nothing. */
export const numberAt = (holder: unknown, key: string): number | undefined => {
  const value = isObject(holder) ? holder[key] : undefined
  return typeof value === 'number' ? value : undefined
}

export const textAt = (holder: unknown, key: string): string | undefined => {
  const value = isObject(holder) ? holder[key] : undefined
  return typeof value === 'string' ? value : undefined
}

export const partAt = (holder: unknown, key: string): unknown => (isObject(holder) ? holder[key] : undefined)

export const listAt = (holder: unknown, key: string): readonly unknown[] => {
  const value = partAt(holder, key)
  return Array.isArray(value) ? value : []
}

/** Who keeps the books, in words. */
export const bookkeeperName = (type = 'default') =>
  i18next.t(`money.bookkeeperType.${type}`, { defaultValue: type })

/**
 * What stands in a field for numbers: it is a text while somebody types, such as `10.50`, and a number only when the field
 * is left. Undefined for nothing, and for what is no number.
 */
export const numberIn = (typed: number | string): number | undefined => {
  if (typeof typed === 'number') return typed
  const value = Number(typed)
  return typed.trim() !== '' && Number.isFinite(value) ? value : undefined
}
