import type { Upgrade } from '../upgrades.ts'

// Outcomes become lines of CSV, each a part of its own. Texts with backslashes would be read as escapes of bytes.
const outcomes = (bytes: string, name: string, condition: string, line: string) =>
  `INSERT INTO long_parts (account_id, run_id, name, part, first_row, content)
  SELECT account_id, run_id, '${name}',
      row_number() OVER (PARTITION BY account_id, run_id ORDER BY target_id) - 1, 0,
      CAST(replace(${line}, '\\', '/') || '\n' AS ${bytes})
    FROM migration_outcomes WHERE ${condition}`

const countOf = (condition: string) => `(SELECT count(*) FROM migration_outcomes o
  WHERE o.account_id = r.account_id AND o.run_id = r.id AND ${condition})`

// Times were Gregorian seconds.
const unixMs = (seconds: string) => `(${seconds} - 62167219200) * 1000`

const detail = `'{"author":' || author || ',"performer":' || performer ||
  ',"includesDescendants":' || CASE include_descendants WHEN 1 THEN 'true' ELSE 'false' END ||
  ',"includesResellers":' || CASE include_resellers WHEN 1 THEN 'true' ELSE 'false' END ||
  ',"requested":' || requested || ',"total":' || total || '}'`

const position = `'{"place":"' || place || '","turn":' || turn || ',"skipped":' || skipped || ',"changed":' || changed ||
  CASE WHEN started IS NULL THEN '' ELSE ',"started":' || started END ||
  CASE WHEN step IS NULL THEN '' ELSE ',"halfDone":' || step END || '}'`

/** Tasks and migrations are runs of one engine; migrations that are under way go on where they stand. */
export const longRuns: Upgrade = {
  number: 21,
  title: 'tasks and migrations as runs of one engine',
  statements: ({ key, bytes }) => [
    'ALTER TABLE task_runs RENAME TO long_runs',
    'ALTER TABLE long_runs RENAME COLUMN task_id TO id',
    `ALTER TABLE long_runs ADD COLUMN kind ${key} NOT NULL DEFAULT 'task'`,
    `ALTER TABLE long_runs ADD COLUMN subject ${key} NOT NULL DEFAULT ''`,
    'ALTER TABLE long_runs ADD COLUMN detail TEXT',
    'ALTER TABLE task_parts RENAME TO long_parts',
    'ALTER TABLE long_parts RENAME COLUMN task_id TO run_id',
    'DROP INDEX task_runs_by_state',
    // Whoever looks for work, or for what is left over, looks across accounts.
    'CREATE INDEX long_runs_by_state ON long_runs (kind, state, account_id, since, id)',
    'CREATE INDEX long_runs_of ON long_runs (account_id, kind, subject, id)',
    `CREATE UNIQUE INDEX long_runs_open ON long_runs (account_id, kind, subject)
      WHERE state = 'executing' AND subject <> ''`,
    `INSERT INTO long_runs
      (account_id, id, kind, subject, state, since, done, succeeded, failed, position, out_parts, failed_parts, held, detail)
    SELECT account_id, id, 'migration', migration, CASE WHEN ended IS NULL THEN 'executing' ELSE 'ended' END,
        ${unixMs('COALESCE(ended, requested)')}, performed + failed, performed, failed, ${position},
        ${countOf("o.problem = ''")}, ${countOf("o.problem <> ''")}, '1', ${detail}
      FROM migration_runs r
      WHERE id = (SELECT max(id) FROM migration_runs m WHERE m.account_id = r.account_id AND m.migration = r.migration)`,
    outcomes(bytes, 'out', "problem = ''", 'target_id'),
    outcomes(bytes, 'failed', "problem <> ''", `target_id || ',"' || replace(problem, '"', '""') || '"'`),
    'DROP TABLE migration_outcomes',
    'DROP TABLE migration_runs',
  ],
}
