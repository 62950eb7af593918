import type { Upgrade } from '../upgrades.ts'

/** How far tasks have come, and their input and output in parts of bounded size. */
export const tasks: Upgrade = {
  number: 7,
  title: 'task progress, input and output',
  statements: ({ key, bytes }) => [
    // Apart from the task's record, because progress is no edit of it. Made before the record, while input arrives.
    `CREATE TABLE task_runs (
      account_id ${key} NOT NULL,
      task_id ${key} NOT NULL,
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
      PRIMARY KEY (account_id, task_id)
    )`,
    // Whoever looks for work, or for what is left over, looks across accounts.
    'CREATE INDEX task_runs_by_state ON task_runs (state, account_id, since, task_id)',
    `CREATE TABLE task_parts (
      account_id ${key} NOT NULL,
      task_id ${key} NOT NULL,
      name ${key} NOT NULL,
      part BIGINT NOT NULL,
      first_row BIGINT NOT NULL,
      content ${bytes} NOT NULL,
      PRIMARY KEY (account_id, task_id, name, part)
    )`,
  ],
}
