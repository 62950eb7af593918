import type { Dialect } from '../sql-words.ts'

/** Leases, background jobs, batches and email. */
export const workSchema = ({ key, compact, bytes }: Dialect): string[] => [
  `CREATE TABLE leases (
      name ${key} NOT NULL PRIMARY KEY,
      token ${key} NOT NULL,
      holder TEXT NOT NULL,
      expires_at BIGINT NOT NULL
    ) ${compact}`,
  // When each periodic job ran last.
  `CREATE TABLE rounds (
      name ${key} NOT NULL PRIMARY KEY,
      done_at BIGINT NOT NULL
    ) ${compact}`,
  // Changes that fold or move counts between accounts update this row first: they take turns.
  "INSERT INTO rounds (name, done_at) VALUES ('quantities', 0)",
  // The job queue. Times in Unix milliseconds. `sequence` counts within a subject; `marks` grows
  // whenever the job is requested again; `trace` is a `traceparent` (W3C Trace Context) of the request.
  `CREATE TABLE work (
      kind ${key} NOT NULL,
      id ${key} NOT NULL,
      account_id ${key} NOT NULL,
      subject ${key} NOT NULL,
      sequence BIGINT NOT NULL,
      state ${key} NOT NULL,
      due_at BIGINT NOT NULL,
      since BIGINT NOT NULL,
      attempts INTEGER NOT NULL,
      marks BIGINT NOT NULL,
      payload TEXT NOT NULL,
      outcome TEXT NOT NULL,
      finished_at BIGINT NOT NULL,
      trace TEXT,
      PRIMARY KEY (kind, id)
    ) ${compact}`,
  "CREATE INDEX work_turns ON work (kind, account_id, due_at) WHERE state = 'waiting'",
  "CREATE INDEX work_due ON work (kind, due_at) WHERE state = 'waiting'",
  "CREATE INDEX work_subjects ON work (subject, sequence) WHERE state = 'waiting' AND subject <> ''",
  "CREATE INDEX work_finished ON work (finished_at) WHERE state <> 'waiting'",
  'CREATE INDEX work_of_account ON work (account_id, kind, id)',
  // Runs of tasks and migrations. A run is stored apart from the record of its task: progress is no edit
  // of it.
  `CREATE TABLE long_runs (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      state ${key} NOT NULL,
      since BIGINT NOT NULL,
      node TEXT NOT NULL DEFAULT '',
      done BIGINT NOT NULL DEFAULT 0,
      succeeded BIGINT NOT NULL DEFAULT 0,
      failed BIGINT NOT NULL DEFAULT 0,
      position TEXT,
      out_parts BIGINT NOT NULL DEFAULT 0,
      failed_parts BIGINT NOT NULL DEFAULT 0,
      held TEXT NOT NULL DEFAULT '',
      worked_ms BIGINT NOT NULL DEFAULT 0,
      kind ${key} NOT NULL DEFAULT 'task',
      subject ${key} NOT NULL DEFAULT '',
      detail TEXT,
      PRIMARY KEY (account_id, id)
    )`,
  'CREATE INDEX long_runs_by_state ON long_runs (kind, state, account_id, since, id)',
  'CREATE INDEX long_runs_of ON long_runs (account_id, kind, subject, id)',
  "CREATE UNIQUE INDEX long_runs_open ON long_runs (account_id, kind, subject) WHERE state = 'executing' AND subject <> ''",
  'CREATE INDEX long_runs_by_age ON long_runs (kind, state, since)',
  // Input and output of runs in parts of bounded size.
  `CREATE TABLE long_parts (
      account_id ${key} NOT NULL,
      run_id ${key} NOT NULL,
      name ${key} NOT NULL,
      part BIGINT NOT NULL,
      first_row BIGINT NOT NULL,
      content ${bytes} NOT NULL,
      PRIMARY KEY (account_id, run_id, name, part)
    )`,
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
  `CREATE TABLE mail_attempts (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      at BIGINT NOT NULL,
      letter_id ${key} NOT NULL,
      message_id TEXT NOT NULL,
      notice ${key} NOT NULL,
      recipient TEXT NOT NULL,
      sender TEXT NOT NULL,
      subject TEXT NOT NULL,
      number INTEGER NOT NULL,
      outcome ${key} NOT NULL,
      reply TEXT NOT NULL,
      signed_by TEXT NOT NULL,
      PRIMARY KEY (account_id, id)
    ) ${compact}`,
  'CREATE INDEX mail_attempts_age ON mail_attempts (at)',
]
