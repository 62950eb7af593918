import type { Upgrade } from '../upgrades.ts'

/** What is too old is found by its age, across the accounts. */
export const retention: Upgrade = {
  number: 25,
  title: 'what is too old is found by its age',
  statements: () => [
    `CREATE INDEX records_passing ON records (kind, sort_key) WHERE kind IN ('login_attempt', 'revoked_token')`,
    'CREATE INDEX long_runs_by_age ON long_runs (kind, state, since)',
    'CREATE INDEX allotment_uses_by_age ON allotment_uses (minute)',
  ],
}
