import type { Json } from '../lib/json.ts'
import { createRecordCache } from './cache.ts'
import { type ChangeSet, type Claim, type ClaimHolder, conflict } from './change-set.ts'
import { cacheKey, type Database, type Row } from './db.ts'

/** A stored record. Its texts are parsed at most once, and the parsed objects are shared: never change them. */
export class StoredRecord<Doc extends object = Json, Hidden extends object = Json> {
  readonly accountId: string
  readonly kind: string
  readonly id: string
  /** The user that a device or the like belongs to, else empty. */
  readonly ownerId: string
  /** What lists are ordered by. */
  readonly sortKey: string
  /** Gregorian seconds. */
  readonly created: number
  readonly modified: number
  readonly revision: string
  /** Public JSON text, without the id. */
  readonly docText: string
  /** Private JSON text. */
  readonly hiddenText: string
  /** JSON text of the list row. */
  readonly rowText: string
  /** A count that other records' births and deaths move (sub-accounts, say). Moving it is no edit: the revision stays. */
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
    this.#doc ??= JSON.parse(this.docText) as Doc
    return this.#doc
  }

  get hidden(): Readonly<Hidden> {
    this.#hidden ??= JSON.parse(this.hiddenText) as Hidden
    return this.#hidden
  }
}

export interface RecordFields {
  accountId: string
  kind: string
  id: string
  ownerId: string
  sortKey: string
  created: number
  modified: number
  revision: string
  docText: string
  hiddenText: string
  rowText: string
  tally?: number
}

export interface PageQuery {
  accountId: string
  kind: string
  ownerId?: string
  /** The [sort key, id] after which the page begins. */
  after?: readonly [string, string]
  limit: number
  descending: boolean
  /** Read beside the event loop: for walks through whole lists. */
  long?: boolean
}

/** What a list shows of a record, and where it stands. */
export type ListRow = Pick<StoredRecord, 'id' | 'sortKey' | 'rowText'>

export type Records = ReturnType<typeof createRecords>

/** The columns that `toRecord` reads. */
export const recordColumns = (prefix = '') =>
  [
    'account_id',
    'kind',
    'id',
    'owner_id',
    'sort_key',
    'created',
    'modified',
    'revision',
    'doc',
    'hidden',
    'row_json',
    'tally',
  ]
    .map((name) => prefix + name)
    .join(', ')

const columns = recordColumns()
// Between half of it and all of it is used, by as many records as are asked for: some 25,000 accounts fill it.
const cacheBytes = 160_000_000

/** Text that both engines can bind and compare: PostgreSQL has no NUL and no lone surrogates in text. */
export const isStorable = (text: string) => text.isWellFormed() && !text.includes('\0')

/** A sort key from free text: bounded, bindable, case folded. */
export const sortKeyOf = (...parts: (string | undefined)[]) =>
  parts
    .map((part) => (part ?? '').toLowerCase())
    .join(' ')
    .replaceAll('\0', '')
    .toWellFormed()
    .slice(0, 256)
    .toWellFormed()

export const toRecord = (row: Row) =>
  new StoredRecord({
    accountId: row.account_id as string,
    kind: row.kind as string,
    id: row.id as string,
    ownerId: row.owner_id as string,
    sortKey: row.sort_key as string,
    created: row.created as number,
    modified: row.modified as number,
    revision: row.revision as string,
    docText: row.doc as string,
    hiddenText: row.hidden as string,
    rowText: row.row_json as string,
    tally: row.tally as number,
  })

const toListRow = (row: Row): ListRow => ({
  id: row.id as string,
  sortKey: row.sort_key as string,
  rowText: row.row_json as string,
})

const pageSql = ({ ownerId, after, descending }: PageQuery, selected: string) => {
  const owner = ownerId === undefined ? '' : 'AND owner_id = $4'
  const place = ownerId === undefined ? 4 : 5
  const side = descending ? '<' : '>'
  const order = descending ? 'DESC' : 'ASC'
  const keyset = after ? `AND (sort_key, id) ${side} ($${place}, $${place + 1})` : ''
  return `SELECT ${selected} FROM records WHERE account_id = $1 AND kind = $2 ${owner} ${keyset}
    ORDER BY sort_key ${order}, id ${order} LIMIT $3`
}

/** The documents of all areas: reads through a cache, writes into change sets. */
export const createRecords = (db: Database) => {
  const cache = createRecordCache<StoredRecord | undefined>(cacheBytes)
  let era = 0
  db.onStale((keys) => {
    era += 1
    cache.forget(keys)
  })
  const select = `SELECT ${columns} FROM records WHERE account_id = $1 AND kind = $2 AND id = $3`

  const load = async (accountId: string, kind: string, id: string) => {
    const [row] = await db.all(select, [accountId, kind, id])
    const value = row && toRecord(row)
    const bytes = value ? 2 * (value.docText.length + value.hiddenText.length + value.rowText.length) : 0
    return { value, bytes }
  }

  const readPage = (query: PageQuery, selected: string) => {
    const { accountId, kind, ownerId, after, limit, long } = query
    const params = [accountId, kind, limit, ...(ownerId === undefined ? [] : [ownerId]), ...(after ?? [])]
    const sql = pageSql(query, selected)
    return long ? db.scan(sql, params) : db.all(sql, params)
  }

  return {
    /** Another number after every change of any record: what was made of records is good while it stays. */
    era: () => era,

    /** The record, or undefined. The account comes first: a look-up that could cross accounts does not exist. */
    find<Doc extends object = Json, Hidden extends object = Json>(
      accountId: string,
      kind: string,
      id: string,
    ) {
      const found = isStorable(id)
        ? cache.get(cacheKey(accountId, kind, id), () => load(accountId, kind, id))
        : Promise.resolve(undefined)
      return found as Promise<StoredRecord<Doc, Hidden> | undefined>
    },

    async page(query: PageQuery) {
      return (await readPage(query, columns)).map(toRecord)
    },

    /** The same page without the records' documents: a third of the work. */
    async rows(query: PageQuery) {
      return (await readPage(query, 'id, sort_key, row_json')).map(toListRow)
    },

    /** Everything that an account holds, of all kinds, in batches. */
    async *everything(accountId: string, batch = 500): AsyncGenerator<StoredRecord[]> {
      let after: readonly [string, string] = ['', '']
      for (;;) {
        const rows = await db.scan(
          `SELECT ${columns} FROM records WHERE account_id = $1 AND (kind, id) > ($2, $3) ORDER BY kind, id LIMIT $4`,
          [accountId, ...after, batch],
        )
        if (rows.length > 0) yield rows.map(toRecord)
        const last = rows.at(-1)
        if (!last || rows.length < batch) return
        after = [last.kind as string, last.id as string]
      }
    },

    /** Who holds a claim. */
    async claimant(claim: Claim): Promise<ClaimHolder | undefined> {
      if (!isStorable(claim.value)) return undefined
      const [row] = await db.all(
        'SELECT holder_account_id, kind, record_id FROM claims WHERE account_id = $1 AND name = $2 AND value = $3',
        [claim.scope, claim.name, claim.value],
      )
      return row && toHolder(row)
    },

    /** Holders of the claims whose value begins with `prefix`, in the order of the values. */
    async claimants(scope: string, name: string, prefix: string, limit: number): Promise<ClaimHolder[]> {
      if (!isStorable(prefix)) return []
      const rows = await db.all(
        `SELECT holder_account_id, kind, record_id FROM claims
          WHERE account_id = $1 AND name = $2 AND value >= $3 AND value < $4 ORDER BY value LIMIT $5`,
        [scope, name, prefix, `${prefix}\u{10ffff}`, limit],
      )
      return rows.map(toHolder)
    },
  }
}

const toHolder = (row: Row): ClaimHolder => ({
  accountId: row.holder_account_id as string,
  kind: row.kind as string,
  id: row.record_id as string,
})

const insertSql = `INSERT INTO records (${columns})
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0) ON CONFLICT DO NOTHING`
const updateSql = `UPDATE records
  SET owner_id = $4, sort_key = $5, modified = $6, revision = $7, doc = $8, hidden = $9, row_json = $10
  WHERE account_id = $1 AND kind = $2 AND id = $3 AND revision = $11`
const deleteSql = 'DELETE FROM records WHERE account_id = $1 AND kind = $2 AND id = $3 AND revision = $4'

/** Adds the birth of a record to a change set. */
export const insertRecord = (set: ChangeSet, record: StoredRecord<object, object>) =>
  set
    .run(
      insertSql,
      [
        record.accountId,
        record.kind,
        record.id,
        record.ownerId,
        record.sortKey,
        record.created,
        record.modified,
        record.revision,
        record.docText,
        record.hiddenText,
        record.rowText,
      ],
      { rows: 1, orElse: conflict },
    )
    .record({ ...holderOf(record), action: 'created', after: record.docText })

/** What the audit entry of a replacement tells: JSON texts. */
interface Audited {
  before: string
  after: string
}

/** Adds a replacement, which happens only if `before` is still what is stored. */
export const updateRecord = (
  set: ChangeSet,
  before: StoredRecord<object, object>,
  after: StoredRecord<object, object>,
  audited: Audited = { before: before.docText, after: after.docText },
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
        after.docText,
        after.hiddenText,
        after.rowText,
        before.revision,
      ],
      { rows: 1, orElse: conflict },
    )
    .record({ ...holderOf(after), action: 'edited', ...audited })

/** Adds a removal, which happens only if `record` is still what is stored. */
export const deleteRecord = (set: ChangeSet, record: StoredRecord<object, object>) =>
  set
    .run(deleteSql, [record.accountId, record.kind, record.id, record.revision], {
      rows: 1,
      orElse: conflict,
    })
    .record({ ...holderOf(record), action: 'deleted', before: record.docText })

/** Fails the change set unless the record is there; nobody removes it before the change set is done. */
export const requireRecord = (set: ChangeSet, { accountId, kind, id }: ClaimHolder) =>
  set.run(
    'UPDATE records SET revision = revision WHERE account_id = $1 AND kind = $2 AND id = $3',
    [accountId, kind, id],
    { rows: 1, orElse: conflict },
  )

/** Fails the change set if there is such a record: it came after one looked. */
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
