import type { CdrRow } from '../../../src/areas/calls/cdrs/columns.ts'
import { documentOf } from '../../../src/areas/calls/cdrs/rules.ts'
import type { Json } from '../../../src/lib/json.ts'
import type { Store } from '../../../src/storage/store.ts'

const everything = { first: 190001, last: 999912 }

/** Every stored leg, by id. */
export const storedRows = async (store: Store): Promise<CdrRow[]> => {
  await store.fence()
  const rows = await store.cdrs.read(everything, (from) =>
    store.scan<CdrRow>(`SELECT * FROM ${from} ORDER BY account_id, id`),
  )
  return rows
}

/** The same as the public documents. */
export const storedCdrs = async (store: Store): Promise<Json[]> => (await storedRows(store)).map(documentOf)
