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
