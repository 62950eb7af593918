import type { Upgrade } from '../upgrades.ts'

/** What of included calls is used, and what alerts are made of: balances, phones and numbers on their way. */
export const alerts: Upgrade = {
  number: 15,
  title: 'allotments and alerts',
  statements: ({ key, compact }) => [
    // Seconds of an allotment that were used in the minute that begins then (Gregorian seconds).
    `CREATE TABLE allotment_uses (
      account_id ${key} NOT NULL,
      allotment ${key} NOT NULL,
      minute BIGINT NOT NULL,
      seconds BIGINT NOT NULL,
      PRIMARY KEY (account_id, allotment, minute)
    ) ${compact}`,
    // Accounts whose balance is low, or has moved since it was looked at. Unix milliseconds; mailed_at 0: nobody was told.
    `CREATE TABLE balance_watch (
      account_id ${key} NOT NULL PRIMARY KEY,
      due_at BIGINT NOT NULL,
      mailed_at BIGINT NOT NULL,
      marks BIGINT NOT NULL
    ) ${compact}`,
    'CREATE INDEX balance_watch_due ON balance_watch (due_at)',
    // Phones of which the provisioning service does not know yet what they have to be set to.
    `CREATE TABLE provisionings (
      account_id ${key} NOT NULL,
      device_id ${key} NOT NULL,
      mac_address ${key} NOT NULL,
      due_at BIGINT NOT NULL,
      failures INTEGER NOT NULL,
      marks BIGINT NOT NULL,
      PRIMARY KEY (account_id, device_id)
    ) ${compact}`,
    'CREATE INDEX provisionings_due ON provisionings (due_at)',
    "CREATE INDEX numbers_porting ON numbers (account_id, number) WHERE state IN ('port_in', 'port_out')",
  ],
}
