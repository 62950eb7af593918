import type { JobKind } from '../../../../jobs/queue.ts'
import { newId } from '../../../../lib/ids.ts'
import { type ChangeSet, conflict } from '../../../../storage/change-set.ts'
import type { Statement } from '../../../../storage/db.ts'
import type { JobDraft } from '../../../../storage/job-draft.ts'
import type { ArchivedMonths } from '../../../../storage/monthly.ts'
import type { Store } from '../../../../storage/store.ts'
import { integer, table, text } from '../../../../storage/table.ts'
import type { ArchiveReading } from '../archive/reading.ts'
import { type CdrRow, monthOfId } from '../columns.ts'
import { changedLegs } from '../parts.sql.ts'
import { tallyStatements } from '../stats/store.ts'
import { type Interaction, monthOfGregorian } from './rules.ts'

export const rowKeyOf = ({ account_id, id }: Pick<CdrRow, 'account_id' | 'id'>) => `${account_id}/${id}`

export interface LegName {
  accountId: string
  callId: string
}

export const legKeyOf = ({ accountId, callId }: LegName) => `${accountId}/${callId}`

const interactions = table('cdr_interactions', {
  accountId: text(),
  callId: text(),
  time: integer('interaction_time'),
  key: text('interaction_key'),
})
const insertInteraction = interactions.insert('ON CONFLICT DO NOTHING')

const legNames = interactions.pick('accountId', 'callId')
const oldInteractions = `SELECT ${legNames.columns} FROM cdr_interactions
  WHERE (account_id, call_id) > ($1, $2) AND interaction_time < $3 ORDER BY account_id, call_id LIMIT 500`

const replacement = (table: string, accountId: string, from: Interaction, into: Interaction): Statement => ({
  sql: `UPDATE ${table} SET interaction_time = $4, interaction_key = $5
    WHERE account_id = $1 AND interaction_time = $2 AND interaction_key = $3`,
  params: [accountId, from.time, from.key, into.time, into.key],
})

interface AddedRows {
  added: readonly CdrRow[]
  /** Rows that are not counted in the statistics yet. */
  uncounted: readonly CdrRow[]
  /** Keys of the rows that existed. */
  stored: ReadonlySet<string>
}

const noKeys: ReadonlySet<string> = new Set()

const byMonth = (rows: readonly CdrRow[]) => Map.groupBy(rows, ({ id }) => monthOfId(id))

/** Adds the audit entry of new legs of an account. Returns its id. */
export const recordAdded = (store: Store, set: ChangeSet, accountId: string, rows: readonly CdrRow[]) => {
  const id = newId(store.clock.now())
  const after = JSON.stringify({ records: rows.length, first: rows[0]?.id, last: rows.at(-1)?.id })
  set.record({ accountId, kind: 'cdrs', id, action: 'created', after })
  return id
}

export type IntakeStore = ReturnType<typeof createIntakeStore>

export const createIntakeStore = (store: Store, archive?: Pick<ArchiveReading, 'find'>) => {
  /** By account: each is on one server of a distributed store. */
  const storedIn = (month: number, rows: readonly CdrRow[]) =>
    store.cdrs.read({ first: month, last: month }, async (from) => {
      const given = store.words.pairs('$1')
      const named = store.words.withRows({ given, from, scope: 'account_id = $2', key: 'id', is: 'pairs.a' })
      const found: string[] = []
      for (const [accountId, own] of Map.groupBy(rows, ({ account_id }) => account_id)) {
        const wanted = JSON.stringify(own.map(({ id }) => [id, '']))
        const stored = await store.scan<Pick<CdrRow, 'id'>>(`SELECT id FROM ${named}`, [wanted, accountId])
        found.push(...stored.map(({ id }) => rowKeyOf({ account_id: accountId, id })))
      }
      return found
    })

  const archivedAmong = (rows: readonly CdrRow[], archived: ArchivedMonths) =>
    rows.filter(({ id }) => archived.has(monthOfId(id)))

  /** The keys of the rows that exist in the store or in archive files. */
  const stored = async (rows: readonly CdrRow[], archived: ArchivedMonths): Promise<ReadonlySet<string>> => {
    const found: string[] = []
    for (const [month, legs] of byMonth(rows)) found.push(...(await storedIn(month, legs)))
    for (const row of archivedAmong(rows, archived))
      if (await archive?.find(row.account_id, row.id)) found.push(rowKeyOf(row))
    return new Set(found)
  }

  /** Rows that are not in the statistics: those of a dropped month were counted before. */
  const uncountedAmong = async (rows: readonly CdrRow[]) => {
    const dropped = await store.cdrs.droppedMonths()
    return dropped.length === 0 ? rows : rows.filter(({ id }) => !dropped.includes(monthOfId(id)))
  }

  return {
    /**
     * Adds new rows and their statistics. Without `looks` all rows are expected to be new. The set conflicts if one
     * exists, or if a month was archived after the search.
     */
    async add(set: ChangeSet, rows: readonly CdrRow[], { looks }: { looks: boolean }): Promise<AddedRows> {
      const archived = await store.cdrs.archivedMonths()
      const isUnsure = looks || archivedAmong(rows, archived).length > 0
      const found = isUnsure ? await stored(rows, archived) : noKeys
      const added = found.size === 0 ? rows : rows.filter((row) => !found.has(rowKeyOf(row)))
      if (added.length === 0) return { added, uncounted: added, stored: found }
      for (const [month, legs] of byMonth(added))
        await store.cdrs.insert(set, month, legs, { isArchived: archived.has(month), orElse: conflict })
      const uncounted = await uncountedAmong(added)
      for (const statement of tallyStatements(store.words, uncounted)) set.add(statement)
      return { added, uncounted, stored: found }
    },

    async interactionsOf(legs: readonly LegName[]): Promise<Map<string, Interaction>> {
      const rows = await store.all(
        `SELECT ${interactions.columnsOf('i')}
          FROM ${store.words.pairs('$1')} JOIN cdr_interactions i ON i.account_id = pairs.a AND i.call_id = pairs.b`,
        [JSON.stringify(legs.map(({ accountId, callId }) => [accountId, callId]))],
      )
      return new Map(interactions.list(rows).map(({ time, key, ...leg }) => [legKeyOf(leg), { time, key }]))
    },

    /** Stores the interaction of a leg for legs that name it. A conflict if another process just did. */
    insertInteraction: (set: ChangeSet, leg: LegName, { time, key }: Interaction) =>
      set.add(
        insertInteraction(
          { accountId: leg.accountId, callId: leg.callId, time, key },
          { rows: 1, orElse: conflict },
        ),
      ),

    /** Changes the interaction of legs that will arrive. */
    renaming: (accountId: string, from: Interaction, into: Interaction) =>
      replacement('cdr_interactions', accountId, from, into),

    /** Changes the interaction of stored legs, in the same month. */
    async replacing(accountId: string, from: Interaction, into: Interaction): Promise<Statement[]> {
      const month = monthOfGregorian(from.time)
      const isThere = (await store.cdrs.months()).includes(month)
      if (!isThere) return []
      return [replacement(store.cdrs.tableOf(month), accountId, from, into), store.cdrs.noteChange(month)]
    },

    async forgetInteractions(before: number, signal: AbortSignal) {
      // One pass along the primary key: an index would cost every call.
      let after: readonly [string, string] = ['', '']
      while (!signal.aborted) {
        const old = legNames.list(await store.scan(oldInteractions, [...after, before]))
        const last = old.at(-1)
        if (!last) return
        await store.writeUnrecorded(
          old.map(({ accountId, callId }) => ({
            sql: 'DELETE FROM cdr_interactions WHERE account_id = $1 AND call_id = $2',
            params: [accountId, callId],
          })),
        )
        after = [last.accountId, last.callId]
      }
    },
  }
}

interface Union {
  from: Interaction
  into: Interaction
}

const joinedCallsKind = 'joined_calls'
// Legs that are stored at this moment may still get the old interaction.
const joinDelayMs = 10_000

/** A job that is committed with the leg. Jobs of one account run in order. */
export const unionOf = (accountId: string, { from, into }: Union, now: number): JobDraft<Union> => ({
  kind: joinedCallsKind,
  id: `${accountId}.${from.time}-${from.key}.${into.time}-${into.key}`,
  accountId,
  subject: `interactions/${accountId}`,
  dueAt: now + joinDelayMs,
  payload: { from, into },
  again: 'keep',
})

export const createUnions = ({
  renaming,
  replacing,
}: Pick<IntakeStore, 'renaming' | 'replacing'>): JobKind<Union> => ({
  kind: joinedCallsKind,
  async conclude({ accountId, payload: { from, into } }) {
    const statements = [renaming(accountId, from, into), ...(await replacing(accountId, from, into))]
    return { state: 'forgotten', statements, stale: [changedLegs(accountId)] }
  },
})
