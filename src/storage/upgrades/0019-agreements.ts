import type { Upgrade } from '../upgrades.ts'

/** Charges are agreed to and booked with the change that causes them: counts need no author any more. */
export const agreements: Upgrade = {
  number: 19,
  title: 'charges are booked with what causes them',
  statements: ({ key, compact }) => [
    // Whoever prices what an account has, and then writes, takes a turn: of two who priced the same one comes second.
    `CREATE TABLE payer_turns (
      account_id ${key} NOT NULL PRIMARY KEY,
      turn BIGINT NOT NULL
    ) ${compact}`,
    'ALTER TABLE quantity_moves DROP COLUMN author',
    'CREATE INDEX ledger_entries_sources ON ledger_entries (account_id, source_service, source_id)',
  ],
}
