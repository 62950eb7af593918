import { section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'

const tasks = section('Background tasks', {
  max_running: wholeNumber(
    { minimum: 0, maximum: 100, default: 4, unit: 'tasks' },
    'Tasks that this process works on at once; 0: it leaves them to others',
  ),
  rows_at_once: wholeNumber(
    { minimum: 1, maximum: 1000, default: 40, unit: 'rows' },
    'Rows of one transaction; progress and a stop take effect between transactions',
  ),
  keep_days: wholeNumber(
    { minimum: 1, maximum: 3650, default: 92 },
    'How long a task is kept that has ended, or was never started, with its input and output',
  ),
  wait_after_row_ms: wholeNumber(
    { minimum: 0, maximum: 60_000, default: 0 },
    'Pause after each row, which is then processed alone',
  ),
})

export const taskSettings = settingsDocument('tasks', tasks)
