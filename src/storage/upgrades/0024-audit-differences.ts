import type { Upgrade } from '../upgrades.ts'

/** Edits are told by what differs. Entries of before keep their whole texts. */
export const auditDifferences: Upgrade = {
  number: 24,
  title: 'audit entries keep differences',
  statements: ({ key }) => [
    'ALTER TABLE audit_log ADD COLUMN changes TEXT',
    `ALTER TABLE audit_log ADD COLUMN record_name ${key}`,
  ],
}
