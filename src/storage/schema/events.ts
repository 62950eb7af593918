import type { Dialect } from '../sql-words.ts'

/** The audit log, the order of events, and who is notified of them. */
export const eventsSchema = ({ key, compact, position }: Dialect): string[] => [
  // `span`: the number of events, if the row is more than one; its sequence is that of the last.
  // `base_id`: see ../entry-docs.ts.
  `CREATE TABLE audit_log (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      at BIGINT NOT NULL,
      action ${key} NOT NULL,
      kind ${key} NOT NULL,
      record_id ${key} NOT NULL,
      author TEXT NOT NULL,
      before_doc TEXT,
      after_doc TEXT,
      changes TEXT,
      record_name ${key},
      event ${key},
      tree TEXT,
      sequence BIGINT,
      span BIGINT,
      ${position.column}
      digest ${key},
      previous_digest ${key},
      actor_id ${key},
      base_id ${key},
      PRIMARY KEY (account_id, id)
    )`,
  `CREATE INDEX audit_log_waiting ON audit_log (${position.by}) WHERE sequence IS NULL`,
  'CREATE UNIQUE INDEX audit_log_order ON audit_log (sequence) WHERE sequence IS NOT NULL',
  'CREATE UNIQUE INDEX audit_log_of_account ON audit_log (account_id, sequence) WHERE sequence IS NOT NULL',
  'CREATE INDEX audit_log_bases ON audit_log (account_id, kind, record_id, id) WHERE base_id = id',
  // The end of the chain of an account. The chain continues when entries are removed, and missing last
  // entries are noticed.
  `CREATE TABLE audit_heads (
      account_id ${key} NOT NULL PRIMARY KEY,
      sequence BIGINT NOT NULL,
      digest ${key} NOT NULL
    ) ${compact}`,
  // Finds entries by record (`r/<record>`) and by actor (`a/<actor>`). Filled after the writes, many
  // rows at a time: as indexes of the audit log these two would be a fifth of the cost of a write.
  // feed_marks contains how far it is filled.
  `CREATE TABLE audit_index (
      account_id ${key} NOT NULL,
      about ${key} NOT NULL,
      sequence BIGINT NOT NULL,
      PRIMARY KEY (account_id, about, sequence)
    ) ${compact}`,
  // Events below an account, except its own and those of the topmost account, which sees all.
  `CREATE TABLE feed_below (
      ancestor_id ${key} NOT NULL,
      sequence BIGINT NOT NULL,
      PRIMARY KEY (ancestor_id, sequence)
    ) ${compact}`,
  'CREATE INDEX feed_below_by_sequence ON feed_below (sequence)',
  // Last removed event, and the position of each reader.
  `CREATE TABLE feed_marks (
      name ${key} NOT NULL PRIMARY KEY,
      sequence BIGINT NOT NULL
    ) ${compact}`,
  // Times in Unix milliseconds. `lane` is the record of the event: events of one lane are sent in the
  // order of `sequence`. `turn` is empty except for events that are sent again.
  `CREATE TABLE webhook_deliveries (
      hook_id ${key} NOT NULL,
      lane ${key} NOT NULL,
      sequence BIGINT NOT NULL,
      turn ${key} NOT NULL,
      account_id ${key} NOT NULL,
      due_at BIGINT NOT NULL,
      since BIGINT NOT NULL,
      attempts INTEGER NOT NULL,
      PRIMARY KEY (hook_id, lane, sequence, turn)
    )`,
  'CREATE INDEX webhook_deliveries_due ON webhook_deliveries (hook_id, due_at, sequence)',
  'CREATE INDEX webhook_deliveries_of_account ON webhook_deliveries (account_id)',
  // Events that are to be sent again: those after one sequence, up to another.
  `CREATE TABLE webhook_replays (
      turn ${key} NOT NULL PRIMARY KEY,
      account_id ${key} NOT NULL,
      hook_id ${key} NOT NULL,
      sequence BIGINT NOT NULL,
      last BIGINT NOT NULL
    ) ${compact}`,
  // Hooks that have failed since then without a success.
  `CREATE TABLE webhook_failures (
      hook_id ${key} NOT NULL PRIMARY KEY,
      account_id ${key} NOT NULL,
      since BIGINT NOT NULL
    ) ${compact}`,
  // `at` in Gregorian seconds.
  `CREATE TABLE webhook_attempts (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      hook_id ${key} NOT NULL,
      at BIGINT NOT NULL,
      doc TEXT NOT NULL,
      PRIMARY KEY (account_id, id)
    )`,
  'CREATE INDEX webhook_attempts_of_account ON webhook_attempts (account_id, at, id)',
  'CREATE INDEX webhook_attempts_of_hook ON webhook_attempts (account_id, hook_id, at, id)',
  'CREATE INDEX webhook_attempts_by_age ON webhook_attempts (at)',
  // A row is valid while its process has the lease. Times in Unix milliseconds.
  `CREATE TABLE websockets (
      account_id ${key} NOT NULL,
      id ${key} NOT NULL,
      lease ${key} NOT NULL,
      opened_at BIGINT NOT NULL,
      source TEXT NOT NULL,
      destination TEXT NOT NULL,
      said TEXT NOT NULL,
      PRIMARY KEY (account_id, id)
    ) ${compact}`,
  'CREATE INDEX websockets_of_process ON websockets (lease)',
]

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
  // Runs of tasks and migrations. A run is stored apart from the record of its task: progress is not an edit
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
