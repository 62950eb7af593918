// Numbers written directly to the store: for tests that need many, or a state that no request creates.
import type { Store } from '../../../src/storage/store.ts'

export interface StockedNumber {
  number: string
  state?: string
  carrier?: string
  accountId?: string
}

const insertSql = `INSERT INTO numbers (number, account_id, state, carrier, used_by, country, classifier, created,
    modified, revision, doc, hidden, row_json)
  VALUES ($1, $2, $3, $4, '', 'US', 'did_us', 63900000000, 63900000000, 'r', '{}', '{"features":{}}', '{}')`

export const stockNumbers = (store: Store, numbers: readonly StockedNumber[]) =>
  store.writeUnrecorded(
    numbers.map(({ number, state = 'available', carrier = 'knm_local', accountId = '' }) => ({
      sql: insertSql,
      params: [number, accountId, state, carrier],
    })),
  )
