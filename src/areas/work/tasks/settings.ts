import { section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'

const tasks = section('Bulk tasks', {
  max_running: wholeNumber(
    { minimum: 0, maximum: 100, default: 4, unit: 'tasks' },
    'Maximum concurrent tasks of this process; 0: other processes run them',
  ),
  rows_at_once: wholeNumber(
    { minimum: 1, maximum: 1000, default: 40, unit: 'rows' },
    'Rows of one transaction. Progress is stored, and a stop applies, between transactions',
  ),
  keep_days: wholeNumber(
    { minimum: 1, maximum: 3650, default: 92 },
    'Retention of finished tasks and of tasks that were never started, with input and output',
  ),
  wait_after_row_ms: wholeNumber(
    { minimum: 0, maximum: 60_000, default: 0 },
    'Pause after each row; each row then has its own transaction',
  ),
})

export const taskSettings = settingsDocument('tasks', tasks)
