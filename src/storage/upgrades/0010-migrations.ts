import type { Upgrade } from '../upgrades.ts'

/** Which migrations accounts went through, and how far the runs that were asked for have come. */
export const migrations: Upgrade = {
  number: 10,
  title: 'migrations of accounts',
  statements: ({ key, compact }) => [
    // The latest time that an account went through a migration.
    `CREATE TABLE migrations_performed (
      account_id ${key} NOT NULL,
      migration ${key} NOT NULL,
      run_id ${key} NOT NULL,
      at BIGINT NOT NULL,
      performer TEXT NOT NULL,
      changed BIGINT NOT NULL,
      PRIMARY KEY (account_id, migration)
    )`,
    // A run belongs to the account it was asked for, whatever accounts below it goes through.
    `CREATE TABLE migration_runs (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      migration ${key} NOT NULL,
      include_descendants INTEGER NOT NULL,
      include_resellers INTEGER NOT NULL,
      author TEXT NOT NULL,
      performer TEXT NOT NULL,
      requested BIGINT NOT NULL,
      started BIGINT,
      ended BIGINT,
      total BIGINT NOT NULL,
      performed BIGINT NOT NULL DEFAULT 0,
      failed BIGINT NOT NULL DEFAULT 0,
      skipped BIGINT NOT NULL DEFAULT 0,
      changed BIGINT NOT NULL DEFAULT 0,
      turn BIGINT NOT NULL DEFAULT 0,
      place ${key} NOT NULL DEFAULT '',
      step TEXT,
      PRIMARY KEY (account_id, id)
    )`,
    'CREATE INDEX migration_runs_of ON migration_runs (account_id, migration, id)',
    // Of one account and migration one run at a time.
    'CREATE UNIQUE INDEX migration_runs_open ON migration_runs (account_id, migration) WHERE ended IS NULL',
    // Whoever works on them looks across accounts; what has ended does not stand here.
    'CREATE INDEX migration_runs_waiting ON migration_runs (id, account_id) WHERE ended IS NULL',
    // What became of each account of a run. Those of a run go when the same is asked for again.
    `CREATE TABLE migration_outcomes (
      account_id ${key} NOT NULL,
      run_id ${key} NOT NULL,
      target_id ${key} NOT NULL,
      problem TEXT NOT NULL,
      PRIMARY KEY (account_id, run_id, target_id)
    ) ${compact}`,
    "CREATE INDEX migration_outcomes_failed ON migration_outcomes (account_id, run_id, target_id) WHERE problem <> ''",
  ],
}
