import { Type } from 'typebox'
import { section, settingsDocument, unit } from '../../../settings/keys.ts'

const tasks = section('Background tasks', {
  max_running: Type.Integer({
    minimum: 0,
    maximum: 100,
    default: 4,
    ...unit('tasks'),
    description: 'Tasks that this process works on at once; 0: it leaves them to others',
  }),
  rows_at_once: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 40,
    ...unit('rows'),
    description: 'Rows that are done in one transaction; progress is told, and a stop obeyed, between them',
  }),
  keep_days: Type.Integer({
    minimum: 1,
    maximum: 3650,
    default: 92,
    description: 'How long a task is kept that has ended, or was never started, with its input and output',
  }),
  wait_after_row_ms: Type.Integer({
    minimum: 0,
    maximum: 60_000,
    default: 0,
    description: 'Pause after each row, which is then done by itself',
  }),
})

export const taskSettings = settingsDocument('tasks', tasks)
