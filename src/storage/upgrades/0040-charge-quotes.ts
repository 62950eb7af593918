import type { Upgrade } from '../upgrades.ts'

/** The price that each caller was shown last for a request that it has not accepted. */
export const chargeQuotes: Upgrade = {
  number: 40,
  title: 'quotes of charges',
  statements: ({ key, compact }) => [
    `CREATE TABLE charge_quotes (
      account_id ${key} NOT NULL,
      caller ${key} NOT NULL,
      request ${key} NOT NULL,
      quote_id ${key} NOT NULL,
      today BIGINT NOT NULL,
      monthly BIGINT NOT NULL,
      at BIGINT NOT NULL,
      PRIMARY KEY (account_id, caller, request)
    ) ${compact}`,
    'CREATE INDEX charge_quotes_times ON charge_quotes (at)',
  ],
}
