import type { Upgrade } from '../upgrades.ts'

/** What changed on the invoices of accounts, and why. */
export const services: Upgrade = {
  number: 13,
  title: 'audit of services',
  statements: ({ key }) => [
    `CREATE TABLE service_audit (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      created BIGINT NOT NULL,
      status ${key} NOT NULL,
      doc TEXT NOT NULL,
      PRIMARY KEY (account_id, id)
    )`,
    'CREATE INDEX service_audit_times ON service_audit (account_id, created, id)',
    'CREATE INDEX quantity_days_by_day ON quantity_days (account_id, day)',
  ],
}
