import type { Upgrade } from '../upgrades.ts'

/**
 * The audit is read: by record and by actor, each newest first. Where the chain of an account ends stands beside it, so
 * that it goes on when its entries are let go, and so that the last ones are missed when they are gone otherwise.
 * Entries about what belongs to nobody are the master account's, as new ones are.
 */
export const auditReading: Upgrade = {
  number: 29,
  title: 'the audit is read, and its chains have ends',
  statements: ({ key, compact }) => [
    `CREATE TABLE audit_heads (
      account_id ${key} NOT NULL PRIMARY KEY,
      sequence BIGINT NOT NULL,
      digest ${key} NOT NULL
    ) ${compact}`,
    // By what entries are found beside their place: `r/<record>`, `a/<actor>`. Filled behind the writes, many rows at a
    // time: as indices these two would be a fifth of what a write costs. How far it is filled says feed_marks.
    `CREATE TABLE audit_index (
      account_id ${key} NOT NULL,
      about ${key} NOT NULL,
      sequence BIGINT NOT NULL,
      PRIMARY KEY (account_id, about, sequence)
    ) ${compact}`,
    `UPDATE audit_log SET account_id = (SELECT holder_account_id FROM claims
        WHERE account_id = 'system' AND name = 'master_account' AND value = 'master')
      WHERE account_id = 'system' AND sequence IS NULL AND EXISTS (SELECT 1 FROM claims
        WHERE account_id = 'system' AND name = 'master_account' AND value = 'master')`,
  ],
}
