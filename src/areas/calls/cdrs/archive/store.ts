import { type ChangeSet, conflict } from '../../../../storage/change-set.ts'
import type { Statement } from '../../../../storage/db.ts'
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
const sumOfRecords = (column: string) => `CAST(COALESCE(sum(${column}), 0) AS BIGINT) AS records`
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

/** Which call records are in which files. Only `live` files are read. */
export const createArchiveRegister = (store: Store) => {
  const { cdrs } = store

  const filesWhere = async (where: string, params: readonly (string | number)[]) =>
    files.list(
      await store.scan(`SELECT ${files.columns} FROM cdr_files WHERE ${where} ORDER BY path`, [...params]),
    )

  const recordsIn = async (sql: string, params: (string | number)[]) =>
    sums.first(await store.all(sql, params))?.records ?? 0

  return {
    /** The files with records of an account, oldest month first. */
    async partsOf(
      accountId: string,
      { first, last }: Pick<MonthRange, 'first' | 'last'>,
    ): Promise<ArchivedPart[]> {
      const archived = await cdrs.archivedMonths()
      if (![...archived.keys()].some((month) => month >= first && month <= last)) return []
      const rows = await store.all(
        `SELECT a.path AS path, a.month AS month, f.bytes AS bytes, a.first_created AS first, a.last_created AS last
          FROM cdr_file_accounts a JOIN cdr_files f ON f.path = a.path AND f.state = 'live'
          WHERE a.account_id = $1 AND a.month BETWEEN $2 AND $3 ORDER BY a.month, a.path`,
        [accountId, first, last],
      )
      // The month may have been dropped.
      return archivedParts.list(rows).filter(({ month }) => archived.has(month))
    },

    async isLive(path: string): Promise<boolean> {
      const sql = "SELECT 1 AS one FROM cdr_files WHERE path = $1 AND state = 'live'"
      return (await store.all(sql, [path])).length > 0
    },

    liveOf: (month: number) => filesWhere("month = $1 AND state = 'live'", [month]),
    live: () => filesWhere("state = 'live'", []),
    unread: () => filesWhere("state <> 'live'", []),
    withDeparted: () => filesWhere("state = 'live' AND departures > 0", []),

    count: (month: number) =>
      recordsIn(`SELECT ${sumOfRecords('records')} FROM cdr_files WHERE month = $1 AND state = 'live'`, [
        month,
      ]),

    /** The accounts of a file, without deleted ones. */
    async accountsIn(path: string): Promise<string[]> {
      const rows = await store.scan(
        `SELECT ${fileAccountIds.columns} FROM cdr_file_accounts WHERE path = $1`,
        [path],
      )
      return fileAccountIds.list(rows).map(({ accountId }) => accountId)
    },

    countIn: (path: string) =>
      recordsIn(`SELECT ${sumOfRecords('records')} FROM cdr_file_accounts WHERE path = $1`, [path]),

    async monthOf(accountId: string): Promise<number | undefined> {
      const sql = `SELECT ${months.columns} FROM cdr_file_accounts WHERE account_id = $1 LIMIT 1`
      return months.first(await store.all(sql, [accountId]))?.month
    },

    /** Registers a file before it is written, so that it is removed if the process dies. */
    begin: (guard: Statement, path: string, month: number) =>
      store.writeUnrecorded([
        guard,
        insertFile({ path, month, state: 'written', records: 0, bytes: 0, digest: '', departures: 0 }),
      ]),

    async describe(
      guard: Statement,
      file: Omit<FileRow, 'state' | 'departures'>,
      rows: readonly AccountRow[],
    ) {
      for (let at = 0; at < rows.length; at += accountRowsPerWrite)
        await store.writeUnrecorded([
          guard,
          ...rows.slice(at, at + accountRowsPerWrite).map((row) => insertAccount(row)),
        ])
      await store.writeUnrecorded([
        guard,
        {
          sql: 'UPDATE cdr_files SET records = $2, bytes = $3, digest = $4 WHERE path = $1',
          params: [file.path, file.records, file.bytes, file.digest],
          expect: { rows: 1, orElse: conflict },
        },
      ])
    },

    publish: (set: ChangeSet, path: string) =>
      set.run("UPDATE cdr_files SET state = 'live' WHERE path = $1 AND state = 'written'", [path], {
        rows: 1,
        orElse: conflict,
      }),

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
        { rows: 1, orElse: conflict },
      ),

    async forget(guard: Statement, path: string) {
      await store.writeUnrecorded([
        guard,
        { sql: 'DELETE FROM cdr_file_accounts WHERE path = $1', params: [path] },
        { sql: "DELETE FROM cdr_files WHERE path = $1 AND state <> 'live'", params: [path] },
      ])
    },

    /** Hides an account's records of a month. A later run rewrites the files without them. */
    leave: (accountId: string, month: number): Statement[] => [
      {
        sql: `UPDATE cdr_files SET departures = departures + 1 WHERE path IN (
          SELECT path FROM cdr_file_accounts WHERE account_id = $1 AND month = $2)`,
        params: [accountId, month],
      },
      {
        sql: 'DELETE FROM cdr_file_accounts WHERE account_id = $1 AND month = $2',
        params: [accountId, month],
      },
    ],

    countOf: (accountId: string, month: number) =>
      recordsIn(
        `SELECT ${sumOfRecords('a.records')} FROM cdr_file_accounts a
          JOIN cdr_files f ON f.path = a.path AND f.state = 'live' WHERE a.account_id = $1 AND a.month = $2`,
        [accountId, month],
      ),
  }
}

export type ArchiveRegister = ReturnType<typeof createArchiveRegister>
