import type { SchemaWords } from './create.ts'

/** The audit log, the order of events, and who is notified of them. */
export const eventsSchema = ({ create, compact, position }: SchemaWords): string[] => [
  // `span`: the number of events, if the row is more than one; its sequence is that of the last.
  // `base_id`: see ../entry-docs.ts.
  create(
    'audit_log',
    'account_id id',
    `at:bigint action kind record_id author:text before_doc:text? after_doc:text? changes:text?
      record_name? event? tree:text? sequence:bigint? span:bigint? ${position.column} digest?
      previous_digest? actor_id? base_id?`,
  ),
  `CREATE INDEX audit_log_waiting ON audit_log (${position.by}) WHERE sequence IS NULL`,
  'CREATE UNIQUE INDEX audit_log_order ON audit_log (sequence) WHERE sequence IS NOT NULL',
  'CREATE UNIQUE INDEX audit_log_of_account ON audit_log (account_id, sequence) WHERE sequence IS NOT NULL',
  'CREATE INDEX audit_log_bases ON audit_log (account_id, kind, record_id, id) WHERE base_id = id',
  // The end of the chain of an account. The chain continues when entries are removed, and missing last
  // entries are noticed.
  create('audit_heads', 'account_id', 'sequence:bigint digest', compact),
  // Finds entries by record (`r/<record>`) and by actor (`a/<actor>`). Filled after the writes, many
  // rows at a time: as indexes of the audit log these two would be a fifth of the cost of a write.
  // feed_marks contains how far it is filled.
  create('audit_index', 'account_id about sequence:bigint', '', compact),
  // Events below an account, except its own and those of the topmost account, which sees all.
  create('feed_below', 'ancestor_id sequence:bigint', '', compact),
  'CREATE INDEX feed_below_by_sequence ON feed_below (sequence)',
  // How far events are removed, and how far readers have come.
  create('feed_marks', 'name', 'sequence:bigint', compact),
  // Times in Unix milliseconds. `lane` is the record of the event: events of one lane are sent in the
  // order of `sequence`. `turn` is empty except for events that are sent again.
  create(
    'webhook_deliveries',
    'hook_id lane sequence:bigint turn',
    'account_id due_at:bigint since:bigint attempts:integer',
  ),
  'CREATE INDEX webhook_deliveries_due ON webhook_deliveries (hook_id, due_at, sequence)',
  'CREATE INDEX webhook_deliveries_of_account ON webhook_deliveries (account_id)',
  // Events that are to be sent again: those after one sequence, up to another.
  create('webhook_replays', 'turn', 'account_id hook_id sequence:bigint last:bigint', compact),
  // Hooks that have failed since then without a success.
  create('webhook_failures', 'hook_id', 'account_id since:bigint', compact),
  // `at` in Gregorian seconds.
  create('webhook_attempts', 'account_id id', 'hook_id at:bigint doc:text'),
  'CREATE INDEX webhook_attempts_of_account ON webhook_attempts (account_id, at, id)',
  'CREATE INDEX webhook_attempts_of_hook ON webhook_attempts (account_id, hook_id, at, id)',
  'CREATE INDEX webhook_attempts_by_age ON webhook_attempts (at)',
  // A row is valid while its process has the lease. Times in Unix milliseconds.
  create(
    'websockets',
    'account_id id',
    'lease opened_at:bigint source:text destination:text said:text',
    compact,
  ),
  'CREATE INDEX websockets_of_process ON websockets (lease)',
]

/** Leases, background jobs, batches and email. */
export const workSchema = ({ create, compact }: SchemaWords): string[] => [
  create('leases', 'name', 'token holder:text expires_at:bigint', compact),
  // When each periodic job ran last.
  create('rounds', 'name', 'done_at:bigint', compact),
  // Changes that fold or move counts between accounts update this row first: they take turns.
  "INSERT INTO rounds (name, done_at) VALUES ('quantities', 0)",
  // The job queue. Times in Unix milliseconds. `sequence` counts within a subject; `marks` grows
  // whenever the job is requested again; `trace` is a `traceparent` (W3C Trace Context) of the request.
  create(
    'work',
    'kind id',
    `account_id subject sequence:bigint state due_at:bigint since:bigint attempts:integer marks:bigint
      payload:text outcome:text finished_at:bigint trace:text?`,
    compact,
  ),
  "CREATE INDEX work_turns ON work (kind, account_id, due_at) WHERE state = 'waiting'",
  "CREATE INDEX work_due ON work (kind, due_at) WHERE state = 'waiting'",
  "CREATE INDEX work_subjects ON work (subject, sequence) WHERE state = 'waiting' AND subject <> ''",
  "CREATE INDEX work_finished ON work (finished_at) WHERE state <> 'waiting'",
  'CREATE INDEX work_of_account ON work (account_id, kind, id)',
  // Runs of tasks and migrations. A run is stored apart from the record of its task: progress is no edit
  // of it.
  create(
    'long_runs',
    'account_id id',
    `state since:bigint node:text='' done:bigint=0 succeeded:bigint=0 failed:bigint=0 position:text?
      out_parts:bigint=0 failed_parts:bigint=0 held:text='' worked_ms:bigint=0 kind='task' subject=''
      detail:text?`,
  ),
  'CREATE INDEX long_runs_by_state ON long_runs (kind, state, account_id, since, id)',
  'CREATE INDEX long_runs_of ON long_runs (account_id, kind, subject, id)',
  "CREATE UNIQUE INDEX long_runs_open ON long_runs (account_id, kind, subject) WHERE state = 'executing' AND subject <> ''",
  'CREATE INDEX long_runs_by_age ON long_runs (kind, state, since)',
  // Input and output of runs in parts of bounded size.
  create('long_parts', 'account_id run_id name part:bigint', 'first_row:bigint content:bytes'),
  // The latest time that an account went through a migration.
  create('migrations_performed', 'account_id migration', 'run_id at:bigint performer:text changed:bigint'),
  create(
    'mail_attempts',
    'account_id id',
    `at:bigint letter_id message_id:text notice recipient:text sender:text subject:text number:integer
      outcome reply:text signed_by:text`,
    compact,
  ),
  'CREATE INDEX mail_attempts_age ON mail_attempts (at)',
]
