import type { Upgrade } from '../upgrades.ts'

/** What is to be done after commits: one queue for everything that is asked of the outside, or done later. */
export const work: Upgrade = {
  number: 16,
  title: 'the work queue',
  statements: ({ key, compact }) => [
    // Times in Unix milliseconds. `sequence` counts within a subject; `marks` moves whenever the errand is asked for again.
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
      PRIMARY KEY (kind, id)
    ) ${compact}`,
    "CREATE INDEX work_turns ON work (kind, account_id, due_at) WHERE state = 'waiting'",
    "CREATE INDEX work_due ON work (kind, due_at) WHERE state = 'waiting'",
    "CREATE INDEX work_subjects ON work (subject, sequence) WHERE state = 'waiting' AND subject <> ''",
    "CREATE INDEX work_finished ON work (finished_at) WHERE state <> 'waiting'",
    'CREATE INDEX work_of_account ON work (account_id, kind, id)',
  ],
}
