import { eventAction } from '../../../storage/audit-log.ts'
import type { Author } from '../../../storage/change-set.ts'
import type { Value } from '../../../storage/db.ts'
import { fittingIn } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { conditions, integer, json, optional, type RowOf, shape, text } from '../../../storage/table.ts'
import { createAuditIndexStore, type Subject, subjects } from './indexing.sql.ts'
import { removalKind } from './removal.ts'

const entries = shape({
  accountId: text(),
  id: text(),
  /** Unix milliseconds. */
  at: integer(),
  action: text(),
  kind: text(),
  recordId: text(),
  recordName: optional(text()),
  author: json<Author>(),
  /** JSON texts. */
  changes: optional(text()),
  beforeDoc: optional(text()),
  afterDoc: optional(text()),
  sequence: integer(),
  digest: text(),
  previousDigest: optional(text()),
})

export type AuditEntry = RowOf<typeof entries>

export interface AuditQuery {
  accountId: string
  actorId?: string | undefined
  kind?: string | undefined
  recordId?: string | undefined
  action?: string | undefined
  /** Unix milliseconds; `to` is excluded. */
  from?: number | undefined
  to?: number | undefined
}

const weight = ['changes', 'before_doc', 'after_doc']
  .map((name) => `coalesce(octet_length(${name}), 0)`)
  .join(' + ')

// Bytes of records that are read together, at least one entry.
const maxBytes = 4_000_000

const leavings = shape({ tree: optional(text()), recordName: optional(text()) })

const isEntry = `action <> '${eventAction}' AND digest IS NOT NULL`

// A query with few matches looks at this many entries, and returns where to continue.
const maxLookedThrough = 5000
// IDs begin with the time; under load, this time can be in the future.
const idSlackMs = 60_000

const afterAllIds = 'g'

const idAt = (unixMs: number) => Math.max(0, Math.floor(unixMs)).toString(16).padStart(12, '0')

interface Source {
  /** Selects their sequences. */
  sequences(range: string): string
  /** The part after FROM. */
  rows(range: string): string
  params: Value[]
}

const sourceWhere = (condition: string, params: Value[]): Source => {
  const rows = (range: string) => `audit_log WHERE ${condition} AND sequence IS NOT NULL ${range}`
  return { rows, sequences: (range) => `SELECT sequence FROM ${rows(range)}`, params }
}

export interface AuditPlace {
  after?: number | undefined
  limit: number
  descending: boolean
  long: boolean
}

export const createAuditStore = (store: Store) => {
  const { all, scan } = store
  const index = createAuditIndexStore(store)

  /** Indexed entries of a record or actor, and those behind the index. */
  const bySubject = async (accountId: string, subject: Subject, id: string): Promise<Source> => {
    const { prefix, column } = subjects[subject]
    const sequences = (range: string) => `SELECT sequence FROM audit_index
        WHERE account_id = $1 AND about = $2 AND sequence <= $3 ${range}
      UNION ALL SELECT sequence FROM audit_log
        WHERE account_id = $1 AND ${column} = $4 AND sequence > $3 ${range}`
    return {
      sequences,
      rows: (range) => `audit_log WHERE sequence IN (${sequences(range)})`,
      params: [accountId, `${prefix}${id}`, await index.indexed(), id],
    }
  }

  /** A short period is found by ids. */
  const byTime = async ({ accountId, from, to }: AuditQuery): Promise<Source | undefined> => {
    if (from === undefined && to === undefined) return undefined
    const params = [accountId, idAt(from ?? 0), to === undefined ? afterAllIds : idAt(to + idSlackMs)]
    const range = 'account_id = $1 AND id >= $2 AND id < $3'
    const [row] = await scan(
      `SELECT count(*) AS count FROM (SELECT id FROM audit_log WHERE ${range} LIMIT ${maxLookedThrough}) AS range`,
      params,
    )
    return Number(row?.count) === maxLookedThrough ? undefined : sourceWhere(range, params)
  }

  const sourceOf = async (wanted: AuditQuery): Promise<Source> => {
    const { accountId, recordId, actorId } = wanted
    if (recordId !== undefined) return bySubject(accountId, 'record', recordId)
    if (actorId !== undefined) return bySubject(accountId, 'actor', actorId)
    return (await byTime(wanted)) ?? sourceWhere('account_id = $1', [accountId])
  }

  const restOf = ({ actorId, kind, action, from, to }: AuditQuery, params: Value[]) => {
    const rest = conditions(params)
    rest.add((place) => `actor_id = ${place}`, actorId)
    rest.add((place) => `kind = ${place}`, kind)
    rest.add((place) => `action = ${place}`, action)
    rest.add((place) => `at >= ${place}`, from)
    rest.add((place) => `at < ${place}`, to)
    return rest
  }

  return {
    /** Returns fewer entries than requested if they are large, and where to continue. */
    async page(wanted: AuditQuery, place: AuditPlace) {
      const { after, limit, descending } = place
      const read = place.long ? scan : all
      const direction = descending ? 'DESC' : 'ASC'
      const source = await sourceOf(wanted)
      const begun = conditions([...source.params])
      begun.add((at) => `AND sequence ${descending ? '<' : '>'} ${at}`, after)
      const behind = begun.terms.join(' ')
      const [edge] = await read(
        `SELECT ${descending ? 'min' : 'max'}(sequence) AS sequence, count(*) AS count FROM (
          SELECT sequence FROM (${source.sequences(behind)}) AS found
            ORDER BY sequence ${direction} LIMIT ${maxLookedThrough}) AS looked`,
        begun.params,
      )
      if (edge?.sequence === null || edge?.sequence === undefined) return { items: [], next: undefined }
      const last = Number(edge.sequence)
      const { terms, params } = restOf(wanted, [...begun.params, last])
      const range = `${behind} AND sequence ${descending ? '>=' : '<='} $${begun.params.length + 1}`
      const select = (selected: string, count: number) =>
        read(
          `SELECT ${selected} FROM ${[source.rows(range), isEntry, ...terms].join(' AND ')}
            ORDER BY sequence ${direction} LIMIT ${count}`,
          params,
        )
      const fitting = fittingIn(await select(`${weight} AS weight`, limit), limit, maxBytes)
      const items = entries.list(await select(entries.columns, fitting))
      if (items.length === fitting) return { items, next: items.at(-1)?.sequence }
      return { items, next: Number(edge.count) === maxLookedThrough ? last : undefined }
    },

    async find(accountId: string, id: string): Promise<AuditEntry | undefined> {
      const sql = `SELECT ${entries.columns} FROM audit_log WHERE account_id = $1 AND id = $2 AND ${isEntry}
        AND sequence IS NOT NULL`
      return entries.first(await all(sql, [accountId, id]))
    },

    /** The last parents and name of a deleted account. */
    async departed(accountId: string): Promise<{ tree: string; name: string } | undefined> {
      const sql = `SELECT ${leavings.columns} FROM audit_log
        WHERE account_id = $1 AND record_id = $1 AND sequence IS NOT NULL AND kind IN ('account', '${removalKind}')
          AND ${isEntry}
        ORDER BY sequence DESC LIMIT 1`
      const row = leavings.first(await all(sql, [accountId]))
      return row && { tree: row.tree ?? '', name: row.recordName ?? accountId }
    },
  }
}
