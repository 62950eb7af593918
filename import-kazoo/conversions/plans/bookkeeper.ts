import { isObject, type Json } from '../../../src/lib/json.ts'
import { textIn } from '../../documents/fields.ts'
import type { Said } from './prices.ts'

/**
 * Who keeps books, as far as there is such a bookkeeper here. Those that charge have to be set up, and chosen, anew:
 * until then nobody is charged by them.
 */
export const bookkeeperIn = (fields: Json, field: string, say: (said: Said) => void): Json => {
  const { bookkeeper } = fields
  if (!isObject(bookkeeper) || Object.keys(bookkeeper).length === 0) return {}
  const type = textIn(bookkeeper, 'type') ?? 'default'
  if (type !== 'default') {
    say({ severity: 'needs_hand', code: 'bookkeeper_unknown', field, old: type, new: 'default' })
    return {}
  }
  const id = textIn(bookkeeper, 'id')
  return id === undefined ? {} : { bookkeeper: { id, type } }
}
