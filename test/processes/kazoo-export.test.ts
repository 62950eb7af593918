// Exports an imported Kazoo: unchanged into a CouchDB, and into a second store, which then serves the same.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import type { Store } from '../../src/storage/store.ts'
import { dataSet, secretsOfSamples } from '../support/kazoo/data-set.ts'
import { type House, openHouse } from '../support/kazoo/house.ts'
import { accounts, databaseOf, gregorian, stamped } from '../support/kazoo/sample.ts'
import { type Kazoo, startKazoo } from '../support/kazoo/stand-in.ts'
import { describeEngines } from '../support/servers/databases.ts'

const day = gregorian(2025, 2, 3)

/** Documents that Crosspoint does not use, one with a file. */
const unread = [
  { _id: 'a'.repeat(32), ...stamped('menu', accounts.C, day), name: 'Menü', retries: 3 },
  {
    _id: 'b'.repeat(32),
    ...stamped('media', accounts.C, day),
    name: 'Welcome',
    _attachments: {
      'welcome.mp3': { content_type: 'audio/mpeg', data: Buffer.from('not music').toString('base64') },
    },
  },
]

const firstAdmin = 'admin account'

// Rows that each store creates for itself, and settings, which are not imported.
const ownOfStore = [
  'first_start',
  'kazoo_import',
  'server_key',
  'signing_key',
  'system_config',
  'token_identity',
]

/**
 * Leaves out whether a number is known only from outside the inventory: an export has all numbers in the
 * inventory.
 */
const withoutHearsay = (hidden: unknown) => {
  const { isHearsay: _, ...others } = JSON.parse(String(hidden))
  return others
}

/** A user without the field that an import changes: every user has to choose a password. */
const withoutPassword = (kind: string, doc: Json): Json => {
  if (kind !== 'user') return doc
  const { require_password_update: _, ...others } = doc
  return others
}

/** The content that a store serves, without generated values and values that an export cannot return. */
const contentOf = async (store: Store) => {
  await store.fence()
  const rowsOf = (sql: string) => store.all(sql)
  const ids = (await rowsOf("SELECT id FROM records WHERE kind = 'account' ORDER BY id")).map(({ id }) =>
    String(id),
  )
  const records: Json[] = []
  for (const scope of [...ids, 'system'])
    for await (const batch of store.records.everything(scope))
      for (const { accountId, kind, id, sortKey, ownerId, created, modified, doc, hidden } of batch) {
        if (sortKey === firstAdmin || ownOfStore.includes(kind)) continue
        // Every account has such a document in a Kazoo, also accounts that buy nothing.
        if (kind === 'services' && Object.keys(doc).length === 0) continue
        const { tree, isReseller, isSuperduper, allowsNumberAdditions, enabled, apiKeyHash, base64 } = hidden
        const isFile = base64 !== undefined
        records.push({
          ...{ accountId, kind, id, ownerId, doc: withoutPassword(kind, doc) },
          ...(isFile ? {} : { created, modified }),
          hidden: { tree, isReseller, isSuperduper, allowsNumberAdditions, enabled, apiKeyHash, base64 },
        })
      }
  const numbers = await rowsOf('SELECT * FROM numbers ORDER BY number')
  const transactions = await rowsOf('SELECT * FROM transactions ORDER BY account_id, id')
  return {
    records,
    tree: await rowsOf(
      'SELECT account_id, ancestor_id, distance FROM account_tree ORDER BY account_id, ancestor_id',
    ),
    numbers: numbers.map(({ revision: _, hidden, ...row }) => ({ ...row, hidden: withoutHearsay(hidden) })),
    pools: await rowsOf('SELECT * FROM number_pools ORDER BY account_id, carrier, number'),
    transactions,
    ledger: await rowsOf('SELECT * FROM ledger_entries ORDER BY account_id, id'),
    balances: await rowsOf('SELECT * FROM ledger_balances ORDER BY account_id'),
    audits: await rowsOf(
      'SELECT id, account_id, created, status, doc FROM service_audit ORDER BY account_id, id',
    ),
    uses: await rowsOf('SELECT * FROM allotment_uses ORDER BY account_id, allotment, minute'),
    counts: await rowsOf(
      `SELECT account_id, category, item, CAST(sum(own) AS BIGINT) AS own
        FROM (SELECT account_id, category, item, own FROM quantities
          UNION ALL SELECT account_id, category, item, own FROM quantity_moves) AS counted
        WHERE account_id IN (SELECT account_id FROM records WHERE kind = 'account')
          AND NOT (category = 'users' AND account_id = '${accounts.M}')
        GROUP BY account_id, category, item HAVING sum(own) <> 0 ORDER BY account_id, category, item`,
    ),
    calls: await store.cdrs.read({ first: 200001, last: 209912 }, (from) =>
      store.all(`SELECT * FROM ${from} ORDER BY account_id, id`),
    ),
    kept: await rowsOf(
      'SELECT account_id, source, id, name, type, bytes FROM kazoo_kept ORDER BY account_id, source, id, name',
    ),
  }
}

describeEngines('crosspoint export kazoo', (engine) => {
  let kazoo: Kazoo
  let house: House

  beforeAll(async () => {
    kazoo = await startKazoo(dataSet())
    for (const fields of unread) kazoo.put(databaseOf(accounts.C), fields)
    house = await openHouse(engine)
    expect((await house.importing(kazoo.url)).status).toBe(2)
  })

  afterAll(async () => {
    await house.close()
    await kazoo.close()
  })

  const namesIn = (path: string) => readdirSync(path).sort()
  const nameOf = (name: string) => decodeURIComponent(name.replace(/\.json$/, ''))
  const textsIn = (path: string) =>
    Object.fromEntries(namesIn(path).map((name) => [name, readFileSync(join(path, name), 'utf8')]))

  it('writes a file for each database, into an empty folder, and a CouchDB and an import take them', async () => {
    const folder = join(house.place.dataDir, 'way-back')
    const { status, output, errors } = await house.exporting(folder, '--json')
    expect({ status, errors }).toEqual({ status: 0, errors: '' })
    const report = JSON.parse(output)
    expect(report).toMatchObject({ directory: folder, databases: namesIn(folder).length })
    for (const secret of secretsOfSamples()) expect(output).not.toContain(secret)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    for (const name of namesIn(folder)) {
      expect(name).toMatch(/^[\w%.~-]+\.json$/)
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
    }

    // Preserved documents are exported as they came.
    const text = textsIn(folder)[`${encodeURIComponent(databaseOf(accounts.C))}.json`] ?? ''
    const written = JSON.parse(text).docs as Json[]
    for (const { _id: id } of unread) {
      const answer = await fetch(
        `${kazoo.url}/${encodeURIComponent(databaseOf(accounts.C))}/${id}?attachments=true`,
      )
      const came = (await answer.json()) as Json
      expect(written.find(({ _id }) => _id === id)).toEqual(came)
    }

    // A second export writes the same, and not into the folder of the first.
    const before = textsIn(folder)
    const refused = await house.exporting(folder)
    expect({ status: refused.status, output: refused.output }).toEqual({ status: 1, output: '' })
    expect(refused.errors).toBe(`crosspoint: ${folder} is not empty: name a new or empty folder\n`)
    expect(textsIn(folder)).toEqual(before)
    const other = join(house.place.dataDir, 'way-back-again')
    const again = await house.exporting(other)
    expect(again.status).toBe(0)
    expect(textsIn(other)).toEqual(before)

    // CouchDB accepts each file, and an import from it equals an import from the folder.
    const names = namesIn(folder)
    const couch = await startKazoo(new Map(names.map((name) => [nameOf(name), []])))
    const [second, third] = [await openHouse(engine), await openHouse(engine)]
    try {
      for (const name of names) {
        const answer = await fetch(`${couch.url}/${encodeURIComponent(nameOf(name))}/_bulk_docs`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: readFileSync(join(folder, name)),
        })
        expect(answer.status).toBe(201)
        expect((await answer.json()) as Json[]).not.toContainEqual(
          expect.objectContaining({ error: expect.anything() }),
        )
      }
      expect((await second.importing(folder)).status).toBe(2)
      expect((await third.importing(couch.url)).status).toBe(2)
      const came = await contentOf(second.store)
      expect(came).toEqual(await contentOf(house.store))
      expect(await contentOf(third.store)).toEqual(came)
    } finally {
      await second.close()
      await third.close()
      await couch.close()
    }
  })
})
