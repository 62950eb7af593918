import type { Upgrade } from '../upgrades.ts'

/** Edits of large records are stored as patches of an earlier entry. Earlier rows have no base: their records are whole. */
export const recordPatches: Upgrade = {
  number: 42,
  title: 'edits of large records are stored as patches',
  statements: ({ key }) => [
    `ALTER TABLE audit_log ADD COLUMN base_id ${key}`,
    'CREATE INDEX audit_log_bases ON audit_log (account_id, kind, record_id, id) WHERE base_id = id',
    // There is no base before: retention begins where it is.
    `INSERT INTO feed_marks (name, sequence)
      SELECT 'tidied_bases', sequence FROM feed_marks WHERE name = 'tidied'`,
  ],
}
