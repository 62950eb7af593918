import type { Json } from '../lib/json.ts'
import { createRecordCache, createRecordCounts, createRecordLists } from './cache.ts'
import { type ChangeSet, type Claim, type ClaimHolder, conflict, nameOf } from './change-set.ts'
import { cacheKey, type Database, type Row } from './db.ts'
import type { Sealing } from './sealing.ts'
import { sqlWordsOf } from './sql-words.ts'
import { integer, keyset, type RowOf, shape, table, text } from './table.ts'

/** Texts are parsed once and the objects are shared: never change them. */
export class StoredRecord<Doc extends object = Json, Hidden extends object = Json> {
  readonly accountId: string
  readonly kind: string
  readonly id: string
  /** The user of a device or the like, else empty. */
  readonly ownerId: string
  readonly sortKey: string
  /** Gregorian seconds. */
  readonly created: number
  readonly modified: number
  readonly revision: string
  /** Public JSON, without the id. */
  readonly docText: string
  readonly hiddenText: string
  readonly rowText: string
  /** A count that other records change (sub-accounts, for example). It does not change the revision. */
  readonly tally: number
  #doc: Doc | undefined
  #hidden: Hidden | undefined

  constructor(fields: RecordFields) {
    this.accountId = fields.accountId
    this.kind = fields.kind
    this.id = fields.id
    this.ownerId = fields.ownerId
    this.sortKey = fields.sortKey
    this.created = fields.created
    this.modified = fields.modified
    this.revision = fields.revision
    this.docText = fields.docText
    this.hiddenText = fields.hiddenText
    this.rowText = fields.rowText
    this.tally = fields.tally ?? 0
  }

  get doc(): Readonly<Doc> {
    const doc: Doc = this.#doc ?? JSON.parse(this.docText)
    this.#doc = doc
    return doc
  }

  get hidden(): Readonly<Hidden> {
    const hidden: Hidden = this.#hidden ?? JSON.parse(this.hiddenText)
    this.#hidden = hidden
    return hidden
  }
}

const stored = table('records', {
  accountId: text(),
  kind: text(),
  id: text(),
  ownerId: text(),
  sortKey: text(),
  created: integer(),
  modified: integer(),
  revision: text(),
  docText: text('doc'),
  hiddenText: text('hidden'),
  rowText: text('row_json'),
  tally: integer(),
})

type RecordFields = Omit<RowOf<typeof stored>, 'tally'> & { tally?: number }

/** The name of a kind with the type of its records. */
type Kind<Doc extends object, Hidden extends object> = string & {
  readonly [described]: StoredRecord<Doc, Hidden>
}

declare const described: unique symbol

export const kind = <Doc extends object = Json, Hidden extends object = Json>(name: string) =>
  name as Kind<Doc, Hidden>

export type RecordOf<K extends string> = K extends { readonly [described]: infer Stored }
  ? Stored
  : StoredRecord

export interface PageQuery<K extends string = string> {
  accountId: string
  kind: K
  ownerId?: string | undefined
  /** [sort key, id] */
  after?: readonly [string, string]
  limit: number
  descending: boolean
  /** Read in a thread. */
  long?: boolean
}

export type ListRow = Pick<StoredRecord, 'id' | 'sortKey' | 'rowText'>

export type Records = ReturnType<typeof createRecords>

export const recordColumns = (alias?: string) => (alias ? stored.columnsOf(alias) : stored.columns)

// Some 25,000 accounts fill it.
/** The maximum size of cached records. */
export const usualCacheBytes = 160_000_000

const fewAtOnce = 500

/** PostgreSQL stores no NUL and no lone surrogates in text. */
export const isStorable = (text: string) => text.isWellFormed() && !text.includes('\0')

/** Bounded, storable and in lower case. */
export const sortKeyOf = (...parts: (string | undefined)[]) =>
  parts
    .map((part) => (part ?? '').toLowerCase())
    .join(' ')
    .replaceAll('\0', '')
    .toWellFormed()
    .slice(0, 256)
    .toWellFormed()

const holders = shape({ accountId: text('holder_account_id'), kind: text(), id: text('record_id') })

const listRows = stored.pick('id', 'sortKey', 'rowText')

const weights = shape({ weight: integer() })

/** The lengths of a record's texts, without reading them. */
export const weightColumn = (alias?: string) => {
  const lengths = ['doc', 'hidden', 'row_json'].map(
    (name) => `octet_length(${alias ? `${alias}.` : ''}${name})`,
  )
  return `${lengths.join(' + ')} AS weight`
}

/** How many rows weigh at most `bytes`; at least one. */
export const fittingIn = (rows: readonly Row[], limit: number, bytes: number) => {
  let sum = 0
  const first = weights.list(rows).findIndex(({ weight }) => {
    sum += weight
    return sum > bytes
  })
  return first < 0 ? limit : Math.max(1, first)
}

const pageSql = ({ ownerId, after, descending }: PageQuery, selected: string) => {
  const owner = ownerId === undefined ? '' : 'AND owner_id = $4'
  const place = ownerId === undefined ? 4 : 5
  const { behind, order } = keyset(['sort_key', 'id'], descending)
  return `SELECT ${selected} FROM records WHERE account_id = $1 AND kind = $2 ${owner} ${after ? `AND ${behind(place)}` : ''}
    ORDER BY ${order} LIMIT $3`
}

const claimReads = (db: Database) => {
  const startingWith = async (selected: string, names: readonly string[], limit: number, after: string) => {
    const [scope = '', name = '', prefix = ''] = names
    if (!isStorable(prefix)) return []
    return db.all(
      `SELECT ${selected} FROM claims
        WHERE account_id = $1 AND name = $2 AND value >= $3 AND value < $4 AND value > $6 ORDER BY value LIMIT $5`,
      [scope, name, prefix, `${prefix}\u{10ffff}`, limit, after],
    )
  }

  return {
    async claimant(claim: Claim): Promise<ClaimHolder | undefined> {
      if (!isStorable(claim.value)) return undefined
      return holders.first(
        await db.all(
          `SELECT ${holders.columns} FROM claims WHERE account_id = $1 AND name = $2 AND value = $3`,
          [claim.scope, claim.name, claim.value],
        ),
      )
    },

    /** Values of claims that start with `prefix`, after `after`. */
    async names(scope: string, name: string, prefix: string, limit: number, after = ''): Promise<string[]> {
      const found = await startingWith('value', [scope, name, prefix], limit, after)
      return found.map(({ value }) => String(value))
    },

    /** Their holders. */
    claimants: async (scope: string, name: string, prefix: string, limit: number, after = '') =>
      holders.list(await startingWith(holders.columns, [scope, name, prefix], limit, after)),
  }
}

const bytesOf = ({ docText, hiddenText, rowText }: StoredRecord) =>
  2 * (docText.length + hiddenText.length + rowText.length)

/** Documents of all areas: cached reads; writes go into change sets. */
export const createRecords = (db: Database, sealing: Sealing, cacheBytes = usualCacheBytes) => {
  const cache = createRecordCache<StoredRecord | undefined>(cacheBytes)
  let era = 0
  db.onStale((keys) => {
    if (keys.length > 0) era += 1
    cache.forget(keys)
  })
  const lists = createRecordLists<StoredRecord>(db)
  const select = `SELECT ${stored.columns} FROM records
    WHERE account_id = $1 AND kind = $2 AND ${sqlWordsOf(db.engine).oneBy('id', '$3')}`

  const toRecord = (row: Row) => {
    const fields = stored.read(row)
    fields.docText = sealing.open(fields, fields.docText)
    return new StoredRecord(fields)
  }

  const toRecords = <K extends string>(_kind: K, rows: readonly Row[]) =>
    rows.map((row) => toRecord(row) as RecordOf<K>)

  const load = async (accountId: string, kind: string, id: string) => {
    const [row] = await db.all(select, [accountId, kind, id])
    const value = row && toRecord(row)
    return { value, bytes: value ? bytesOf(value) : 0 }
  }

  const readPage = (query: PageQuery, selected: string) => {
    const { accountId, kind, ownerId, after, limit, long } = query
    const params = [accountId, kind, limit, ...(ownerId === undefined ? [] : [ownerId]), ...(after ?? [])]
    const sql = pageSql(query, selected)
    return long ? db.scan(sql, params) : db.all(sql, params)
  }

  /** All pages of a list, in ascending order. */
  async function* batches<K extends string>(query: Omit<PageQuery<K>, 'after' | 'descending'>) {
    let after: PageQuery['after']
    for (;;) {
      const place = after ? { after } : {}
      const rows = await readPage({ ...query, ...place, descending: false }, stored.columns)
      const found = toRecords(query.kind, rows)
      if (found.length > 0) yield found
      const last = found.at(-1)
      if (!last || found.length < query.limit) return
      after = [last.sortKey, last.id]
    }
  }

  return {
    /** Changes with any record. */
    era: () => era,

    lookups: cache.lookups,

    counts: createRecordCounts(db),

    ...claimReads(db),

    batches,

    /** The account comes first: no look-up crosses accounts. */
    async find<K extends string>(accountId: string, kind: K, id: string) {
      if (!isStorable(id)) return undefined
      const key = cacheKey(accountId, kind, id)
      const found = await cache.get(key, () => load(accountId, kind, id))
      return found as RecordOf<K> | undefined
    },

    of: toRecords,

    async page<K extends string>(query: PageQuery<K>) {
      return toRecords(query.kind, await readPage(query, stored.columns))
    },

    /** All records of a kind, cached: for few records. */
    async few<K extends string>(accountId: string, kind: K): Promise<readonly RecordOf<K>[]> {
      const list = await lists(accountId, kind, async () => {
        const found: StoredRecord[] = []
        for await (const batch of batches({ accountId, kind, limit: fewAtOnce })) found.push(...batch)
        return found
      })
      return list as readonly RecordOf<K>[]
    },

    /** Without documents: a third of the work. */
    async rows(query: PageQuery) {
      return listRows.list(await readPage(query, listRows.columns))
    },

    /** How many records of a page weigh at most `bytes`; at least one. */
    async fitting(query: PageQuery, bytes: number): Promise<number> {
      return fittingIn(await readPage(query, weightColumn()), query.limit, bytes)
    },

    /** All records of an account in batches. */
    async *everything(accountId: string, batch = 500): AsyncGenerator<StoredRecord[]> {
      let after: readonly [string, string] = ['', '']
      for (;;) {
        const rows = await db.scan(
          `SELECT ${stored.columns} FROM records WHERE account_id = $1 AND (kind, id) > ($2, $3) ORDER BY kind, id LIMIT $4`,
          [accountId, ...after, batch],
        )
        const found = rows.map(toRecord)
        const last = found.at(-1)
        if (last) yield found
        if (!last || rows.length < batch) return
        after = [last.kind, last.id]
      }
    },
  }
}

const newborn = stored.joining('ON CONFLICT DO NOTHING')
// The sort key is redundant with the revision, but with it PostgreSQL uses the right index and does not read all records of the kind.
const updateSql = `UPDATE records
  SET owner_id = $4, sort_key = $5, modified = $6, revision = $7, doc = $8, hidden = $9, row_json = $10
  WHERE account_id = $1 AND kind = $2 AND id = $3 AND sort_key = $11 AND revision = $12`
const deleteSql =
  'DELETE FROM records WHERE account_id = $1 AND kind = $2 AND id = $3 AND sort_key = $4 AND revision = $5'

/** `stored`: the document as stored. */
export const insertRecord = (set: ChangeSet, record: StoredRecord<object, object>, stored: string) =>
  set
    .add(newborn({ ...record, docText: stored, tally: 0 }, { rows: 1, orElse: conflict }))
    .keep(record, { isNew: true })
    .record({ ...holderOf(record), action: 'created', after: record.docText })

/** JSON texts for the audit entry. */
interface Audited {
  before: string
  after: string
}

/** Fails if `before` is not the stored record. */
export const updateRecord = (
  set: ChangeSet,
  before: StoredRecord<object, object>,
  after: StoredRecord<object, object>,
  { stored, audited }: { stored: string; audited: Audited | undefined },
) =>
  set
    .run(
      updateSql,
      [
        after.accountId,
        after.kind,
        after.id,
        after.ownerId,
        after.sortKey,
        after.modified,
        after.revision,
        stored,
        after.hiddenText,
        after.rowText,
        before.sortKey,
        before.revision,
      ],
      { rows: 1, orElse: conflict },
    )
    .keep(after, { isNew: false })
    .record({
      ...holderOf(after),
      action: 'edited',
      ...(audited ?? { before: before.docText, after: after.docText }),
    })

/** Fails if `record` is not the stored one. */
export const deleteRecord = (set: ChangeSet, record: StoredRecord<object, object>) =>
  set
    .run(deleteSql, [record.accountId, record.kind, record.id, record.sortKey, record.revision], {
      rows: 1,
      orElse: conflict,
    })
    .record({ ...holderOf(record), action: 'deleted', before: record.docText, name: nameOf(record.doc) })

/** Fails the change set if the record is missing, and keeps it until the commit. */
export const requireRecord = (set: ChangeSet, { accountId, kind, id }: ClaimHolder) =>
  set.run(
    'UPDATE records SET revision = revision WHERE account_id = $1 AND kind = $2 AND id = $3',
    [accountId, kind, id],
    { rows: 1, orElse: conflict },
  )

/** Fails the change set if the record exists. */
export const requireNoRecord = (set: ChangeSet, { accountId, kind, id }: ClaimHolder) =>
  set.run('DELETE FROM records WHERE account_id = $1 AND kind = $2 AND id = $3', [accountId, kind, id], {
    rows: 0,
    orElse: conflict,
  })

export const holderOf = (record: StoredRecord<object, object>): ClaimHolder => ({
  accountId: record.accountId,
  kind: record.kind,
  id: record.id,
})
