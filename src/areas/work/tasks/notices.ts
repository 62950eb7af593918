import { body, macro, notice } from '../../../mail/notices.ts'

export const taskFinishedNotice = notice('task_finished', {
  friendlyName: 'Task finished',
  category: 'account',
  to: 'original',
  macros: {
    'task.id': macro('Task id', 'Of the task', '4c2a8e6f0b1d3c5a7e909a3c1f0e5b7d'),
    'task.category': macro('Category', 'What the task works on', 'number_management'),
    'task.action': macro('Action', 'What it does', 'add'),
    'task.file_name': macro('File', 'The name of its input', 'numbers.csv'),
    'task.status': macro('Status', 'How it ended', 'success'),
    'task.success_count': macro('Successes', 'Rows that worked', '998'),
    'task.failure_count': macro('Failures', 'Rows that did not', '2'),
  },
  subject: 'Task {{task.category}}/{{task.action}} ended: {{task.status}}',
  ...body(
    'The task {{task.id}} of the account {{account.name}} has ended.',
    'Work: {{task.category}}/{{task.action}}\nInput: {{task.file_name}}\nStatus: {{task.status}}\nRows done: {{task.success_count}}\nRows failed: {{task.failure_count}}',
  ),
})
