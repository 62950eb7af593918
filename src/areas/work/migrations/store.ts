import { type AccountRecord, type Actor, accountKind } from '../../../auth/identity.ts'
import { createRunStore, type BatchRun as LongRun } from '../../../batches/store.ts'
import { createCsvParser } from '../../../lib/csv-parse.ts'
import { type Problems, valueShown } from '../../../lib/failure.ts'
import { isTrue } from '../../../lib/json.ts'
import type { Author, ChangeSet } from '../../../storage/change-set.ts'
import { recordColumns } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { accountsOfTreeSql, integer, json, table, text } from '../../../storage/table.ts'

export interface Reach {
  includesDescendants: boolean
  includesResellers: boolean
}

/** Returns what the client sent by name. */
type RequestValue = (name: string) => unknown

export const reachIn = (sent: RequestValue): Reach => ({
  includesDescendants: isTrue(sent('include_descendants')),
  includesResellers: isTrue(sent('include_resellers')),
})

const isSwitch = (value: unknown) =>
  value === undefined || value === null || value === 'true' || value === 'false' || typeof value === 'boolean'

/** Unclear values are rejected: a run on the wrong accounts cannot be undone. */
export const reachProblems = (sent: RequestValue): Problems => {
  const wrong = ['include_descendants', 'include_resellers'].filter((name) => !isSwitch(sent(name)))
  const message = 'Value must be true or false'
  return Object.fromEntries(
    wrong.map((name) => [name, { type: { message, target: 'boolean', ...valueShown(sent(name)) } }]),
  )
}

interface Performer {
  auth_account_id?: string
  auth_account_name?: string
  auth_user_id?: string
  auth_user_name?: string
  original_auth_account_id?: string
  original_auth_owner_id?: string
}

export const performerOf = ({ accountId, account, user, claims }: Actor): Performer => ({
  auth_account_id: accountId,
  auth_account_name: account.doc.name,
  ...(user ? { auth_user_id: user.id, auth_user_name: `${user.doc.first_name} ${user.doc.last_name}` } : {}),
  ...(claims?.original_account_id ? { original_auth_account_id: claims.original_account_id } : {}),
  ...(claims?.original_owner_id ? { original_auth_owner_id: claims.original_owner_id } : {}),
})

export const isSameReach = (one: Reach, other: Reach) =>
  one.includesDescendants === other.includesDescendants && one.includesResellers === other.includesResellers

/** Progress of a run besides its counters. */
export interface RunPosition {
  /** The last account; empty at the start. */
  place: string
  /** Incremented by every commit. */
  turn: number
  /** Gregorian seconds; undefined before the first commit. */
  started?: number
  skipped: number
  changed: number
  halfDone?: { accountId: string; position: string; changed: number; problem?: string }
}

export const runPositionIn = (position: string | undefined): RunPosition =>
  position === undefined ? { place: '', turn: 0, skipped: 0, changed: 0 } : JSON.parse(position)

export interface Ordered extends Reach {
  author: Author
  performer: Performer
  /** Gregorian seconds. */
  requested: number
  /** Number of accounts when the run was requested. */
  total: number
}

/** The subject of the run is the migration. */
export type StoredRun = LongRun<Ordered>

export const orderedIn = ({ id, detail }: StoredRun): Ordered => {
  if (!detail) throw new Error(`the migration ${id} does not say what was asked for`)
  return detail
}

const performances = table('migrations_performed', {
  accountId: text(),
  migration: text(),
  runId: text(),
  at: integer(),
  performer: json<Performer>(),
  changed: integer(),
})

const performed = performances.pick('runId', 'at', 'performer', 'changed')

// Sorts after the empty text and before every id: the root account is done.
const behindRoot = '0'

export type MigrationStore = ReturnType<typeof createMigrationStore>

export const createMigrationStore = (store: Store) => {
  const runs = createRunStore<Ordered>(store, 'migration')

  /** The first lines by account id. Only the root account is out of order. */
  const lowest = async (run: StoredRun, name: 'out' | 'failed', limit: number) => {
    const lines: [accountId: string, problem: string][] = []
    for await (const { content } of runs.parts.read(run, name)) {
      const parser = createCsvParser()
      for (const { cells } of [...parser.push(content), ...parser.end()])
        lines.push([cells[0] ?? '', cells[1] ?? ''])
      if (lines.length > limit) break
    }
    return lines.sort(([one], [other]) => (one < other ? -1 : 1)).slice(0, limit)
  }

  return {
    runs,

    async performedOn(accountId: string, migration: string) {
      const sql = `SELECT ${performed.columns} FROM migrations_performed WHERE account_id = $1 AND migration = $2`
      return performed.first(await store.all(sql, [accountId, migration]))
    },

    performedBy: async (run: StoredRun, limit: number): Promise<string[]> =>
      (await lowest(run, 'out', limit)).map(([accountId]) => accountId),

    failures: async (run: StoredRun, limit: number) =>
      (await lowest(run, 'failed', limit)).map(([account_id, message]) => ({ account_id, message })),

    async targets(
      {
        rootId,
        place,
        includesDescendants,
      }: { rootId: string } & Pick<RunPosition, 'place'> & Pick<Reach, 'includesDescendants'>,
      limit: number,
    ): Promise<AccountRecord[]> {
      if (place === '') {
        const root = await store.records.find(rootId, accountKind, rootId)
        return root ? [root] : []
      }
      if (!includesDescendants) return []
      const rows = await store.scan(
        accountsOfTreeSql(recordColumns('r'), {
          where: 't.ancestor_id = $1 AND t.account_id > $2',
          keys: ['t.account_id'],
          descending: false,
          limit: '$3',
        }),
        [rootId, place, limit],
      )
      return store.records.of(accountKind, rows)
    },

    placeOf: (rootId: string, accountId: string) => (accountId === rootId ? behindRoot : accountId),

    performed: performances.upsert('accountId', 'migration'),

    removeWithAccount(set: ChangeSet, accountId: string) {
      set.run('DELETE FROM migrations_performed WHERE account_id = $1', [accountId])
      runs.removeWithAccount(set, accountId)
    },
  }
}
