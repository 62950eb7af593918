import { type ChangeSet, conflict } from '../../../../storage/change-set.ts'
import type { Statement, Value } from '../../../../storage/db.ts'
import type { MonthRange } from '../../../../storage/monthly.ts'
import type { Store } from '../../../../storage/store.ts'
import { integer, oneOf, type RowOf, shape, table, text } from '../../../../storage/table.ts'
import type { ArchivedPart } from '../places.rules.ts'

const files = table('cdr_files', {
  path: text(),
  month: integer(),
  /** `written`: not readable yet. `gone`: to be removed. */
  state: oneOf(['written', 'live', 'gone']),
  records: integer(),
  bytes: integer(),
  /** SHA-256. */
  digest: text(),
  /** Number of deleted accounts whose records are still in the file. */
  departures: integer(),
})

const fileAccounts = table('cdr_file_accounts', {
  accountId: text(),
  month: integer(),
  path: text(),
  records: integer(),
  firstCreated: integer(),
  lastCreated: integer(),
})

export type FileRow = RowOf<typeof files>
export type AccountRow = RowOf<typeof fileAccounts>

const insertFile = files.insert()
const insertAccount = fileAccounts.insert()
const months = shape({ month: integer() })
const sums = shape({ records: integer() })
const liveParts = "cdr_file_accounts a JOIN cdr_files f ON f.path = a.path AND f.state = 'live'"
const fileAccountIds = shape({ accountId: text() })
const archivedParts = shape({
  path: text(),
  month: integer(),
  bytes: integer(),
  first: integer(),
  last: integer(),
})

// Rows in one write.
const accountRowsPerWrite = 500

const one = { rows: 1, orElse: conflict }

/** Which call records are in which files. Only `live` files are read. */
export const createArchiveRegister = (store: Store) => ({ ...registerReads(store), ...registerWrites(store) })

const registerReads = ({ cdrs, all, scan }: Store) => {
  const filesWhere = async (where: string, params: Value[] = []) =>
    files.list(await scan(`SELECT ${files.columns} FROM cdr_files WHERE ${where} ORDER BY path`, params))

  const recordsIn = async (column: string, from: string, params: Value[]) => {
    const sql = `SELECT CAST(COALESCE(sum(${column}), 0) AS BIGINT) AS records FROM ${from}`
    return sums.first(await all(sql, params))?.records ?? 0
  }

  return {
    /** The files with records of an account, oldest month first. */
    async partsOf(
      accountId: string,
      { first, last }: Pick<MonthRange, 'first' | 'last'>,
    ): Promise<ArchivedPart[]> {
      const archived = await cdrs.archivedMonths()
      if (!archived.keys().some((month) => month >= first && month <= last)) return []
      const rows = await all(
        `SELECT a.path AS path, a.month AS month, f.bytes AS bytes, a.first_created AS first, a.last_created AS last
          FROM ${liveParts} WHERE a.account_id = $1 AND a.month BETWEEN $2 AND $3 ORDER BY a.month, a.path`,
        [accountId, first, last],
      )
      // The month may have been dropped.
      return archivedParts.list(rows).filter(({ month }) => archived.has(month))
    },

    async isLive(path: string): Promise<boolean> {
      const sql = "SELECT 1 AS one FROM cdr_files WHERE path = $1 AND state = 'live'"
      return (await all(sql, [path])).length > 0
    },

    liveOf: (month: number) => filesWhere("month = $1 AND state = 'live'", [month]),
    live: () => filesWhere("state = 'live'"),
    unread: () => filesWhere("state <> 'live'"),
    withDeparted: () => filesWhere("state = 'live' AND departures > 0"),

    count: (month: number) => recordsIn('records', "cdr_files WHERE month = $1 AND state = 'live'", [month]),

    countIn: (path: string) => recordsIn('records', 'cdr_file_accounts WHERE path = $1', [path]),

    countOf: (accountId: string, month: number) =>
      recordsIn('a.records', `${liveParts} WHERE a.account_id = $1 AND a.month = $2`, [accountId, month]),

    /** The accounts of a file, without deleted ones. */
    async accountsIn(path: string): Promise<string[]> {
      const sql = `SELECT ${fileAccountIds.columns} FROM cdr_file_accounts WHERE path = $1`
      return fileAccountIds.list(await scan(sql, [path])).map(({ accountId }) => accountId)
    },

    async monthOf(accountId: string): Promise<number | undefined> {
      const sql = `SELECT ${months.columns} FROM cdr_file_accounts WHERE account_id = $1 LIMIT 1`
      return months.first(await all(sql, [accountId]))?.month
    },
  }
}

const registerWrites = (store: Store) => ({
  /** Registers a file before it is written, so that it is removed if the process dies. */
  begin: (guard: Statement, path: string, month: number) =>
    store.writeUnrecorded([
      guard,
      insertFile({ path, month, state: 'written', records: 0, bytes: 0, digest: '', departures: 0 }),
    ]),

  async describe(
    guard: Statement,
    { path, records, bytes, digest }: Omit<FileRow, 'state' | 'departures'>,
    rows: readonly AccountRow[],
  ) {
    for (let at = 0; at < rows.length; at += accountRowsPerWrite) {
      const some = rows.slice(at, at + accountRowsPerWrite)
      await store.writeUnrecorded([guard, ...some.map((row) => insertAccount(row))])
    }
    const sql = 'UPDATE cdr_files SET records = $2, bytes = $3, digest = $4 WHERE path = $1'
    await store.writeUnrecorded([guard, { sql, params: [path, records, bytes, digest], expect: one }])
  },

  publish: (set: ChangeSet, path: string) =>
    set.run("UPDATE cdr_files SET state = 'live' WHERE path = $1 AND state = 'written'", [path], one),

  /** Fails the set unless this many files of a month are live. */
  requireLive: (set: ChangeSet, month: number, count: number) =>
    set.run("UPDATE cdr_files SET state = state WHERE month = $1 AND state = 'live'", [month], {
      rows: count,
      orElse: conflict,
    }),

  /** Marks a file for removal. Fails the set if more accounts were deleted. */
  retire: (set: ChangeSet, { path, departures }: Pick<FileRow, 'path' | 'departures'>) =>
    set.run(
      "UPDATE cdr_files SET state = 'gone' WHERE path = $1 AND state = 'live' AND departures = $2",
      [path, departures],
      one,
    ),

  forget: (guard: Statement, path: string) =>
    store.writeUnrecorded([
      guard,
      { sql: 'DELETE FROM cdr_file_accounts WHERE path = $1', params: [path] },
      { sql: "DELETE FROM cdr_files WHERE path = $1 AND state <> 'live'", params: [path] },
    ]),

  /** Hides an account's records of a month. A later run rewrites the files without them. */
  leave(accountId: string, month: number): Statement[] {
    const params = [accountId, month]
    const own = 'FROM cdr_file_accounts WHERE account_id = $1 AND month = $2'
    return [
      { sql: `UPDATE cdr_files SET departures = departures + 1 WHERE path IN (SELECT path ${own})`, params },
      { sql: `DELETE ${own}`, params },
    ]
  },
})

export type ArchiveRegister = ReturnType<typeof createArchiveRegister>
