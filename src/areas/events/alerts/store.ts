import { conflict, systemScope } from '../../../storage/change-set.ts'
import { createCollection } from '../../../storage/collection.ts'
import type { StoredRecord } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { keysOf, keyText } from './rules.ts'
import type { Alert } from './schema.ts'

/** `cause`: what the server raised the alert for, so that there is one of it. */
interface AlertHidden {
  cause?: string
}

export type AlertStored = StoredRecord<Alert, AlertHidden>

export const causeClaim = (cause: string) => ({ scope: systemScope, name: 'alert_cause', value: cause })

const claimName = 'alert'
const maxUnderKey = 500

const never = 999_999_999_999
const endDigits = 12

// Alerts sort by their end, so that expired ones are read first.
const endKey = (end: number | undefined) => String(Math.max(0, end ?? never)).padStart(endDigits, '0')

/** Alerts belong to no account: they are found under the keys of their recipients. */
export const createAlertStore = (store: Store) => {
  const collection = createCollection<Alert, AlertHidden>(store, {
    kind: 'alert',
    sortKey: ({ expiration_date: end }) => endKey(end),
    row: ({ title, category }) => ({ title, category }),
    claims: ({ id, doc, hidden }) => [
      ...[...new Set(doc.to.flatMap(keysOf).map(keyText))].map((key) => ({
        scope: systemScope,
        name: claimName,
        value: `${key}/${id}`,
        orElse: conflict,
      })),
      ...(hidden.cause === undefined ? [] : [{ ...causeClaim(hidden.cause), orElse: conflict }]),
    ],
  })

  const under = (key: string) => store.records.claimants(systemScope, claimName, `${key}/`, maxUnderKey)

  return {
    ...collection,

    /** Each alert once. */
    async under(keys: readonly string[]): Promise<AlertStored[]> {
      const holders = (await Promise.all(keys.map(under))).flat()
      const ids = [...new Set(holders.map(({ id }) => id))]
      const found = await Promise.all(ids.map((id) => collection.find(systemScope, id)))
      return found.filter((alert) => alert !== undefined)
    },

    firstToEnd: (limit: number) => collection.page({ accountId: systemScope, limit, descending: false }),
  }
}
