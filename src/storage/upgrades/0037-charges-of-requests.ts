import type { Upgrade } from '../upgrades.ts'

/** Only what a request was charged is looked for by its source: calls, which are most entries, cost an index less. */
export const chargesOfRequests: Upgrade = {
  number: 37,
  title: 'the index of charges of requests',
  statements: () => [
    // Not IN: SQLite would not see that a question for one of these keeps to the index.
    `CREATE INDEX ledger_entries_requests ON ledger_entries (account_id, source_service, source_id)
      WHERE source_service = 'prorations' OR source_service = 'services' OR source_service = 'taxes'`,
    // Behind it: from here to the end nobody reads the ledger, on PostgreSQL.
    'DROP INDEX ledger_entries_sources',
  ],
}
