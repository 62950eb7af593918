import type { Store } from '../../../src/storage/store.ts'

/** All imported content, without the generated values of each store: keys, revisions, marks. */
export const importedContentOf = async (store: Store) => {
  await store.fence()
  const ids = (await store.all("SELECT id FROM records WHERE kind = 'account' ORDER BY id")).map(({ id }) =>
    String(id),
  )
  const records: unknown[] = []
  // Content from before the import differs between stores.
  for (const accountId of ids)
    for await (const batch of store.records.everything(accountId))
      for (const { kind, id, ownerId, sortKey, created, modified, doc } of batch)
        if (sortKey !== 'admin account')
          records.push([accountId, kind, id, ownerId, sortKey, created, modified, doc])
  const rowsOf = (sql: string) => store.all(sql)
  return {
    records,
    tree: await rowsOf(
      'SELECT account_id, ancestor_id, distance FROM account_tree ORDER BY account_id, ancestor_id',
    ),
    numbers: await rowsOf('SELECT * FROM numbers ORDER BY number').then((rows) =>
      rows.map(({ revision: _, ...row }) => row),
    ),
    ledger: await rowsOf('SELECT * FROM ledger_entries ORDER BY account_id, id'),
    balances: await rowsOf('SELECT * FROM ledger_balances ORDER BY account_id'),
    calls: await store.cdrs.read({ first: 200001, last: 209912 }, (from) =>
      store.all(`SELECT * FROM ${from} ORDER BY account_id, id`),
    ),
    outcomes: await rowsOf(
      'SELECT name, document_id, type, outcome, records FROM kazoo_documents ORDER BY name, document_id',
    ),
    findings: await rowsOf('SELECT * FROM kazoo_findings ORDER BY name, document_id, number'),
  }
}
