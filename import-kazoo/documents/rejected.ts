import { isObject, type Json } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import { pathOf } from '../../src/lib/property-path.ts'
import type { Removed } from '../../src/lib/removal.ts'

// Values that a record cannot store, by their path: `kazoo_import.rejected` of the record.

const key = 'kazoo_import'

export const rejectedOf = (removed: readonly Removed[]): Json =>
  Object.fromEntries(removed.map(({ place, value }) => [pathOf(place), value]))

export const rejectedIn = (doc: Json): Json => {
  const found = memberOf(doc, key, 'rejected')
  return isObject(found) ? found : {}
}

/** The document with further rejected values, if there are any. */
export const withRejected = (doc: Json, further: Json): Json => {
  const rejected = { ...rejectedIn(doc), ...further }
  return Object.keys(rejected).length === 0 ? doc : { ...doc, [key]: { rejected } }
}
