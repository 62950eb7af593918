import { body, macro, notice } from '../../../mail/notices.ts'

export const taskFinishedNotice = notice('task_finished', {
  friendlyName: 'Task finished',
  category: 'account',
  to: 'original',
  macros: {
    'task.id': macro('Task id', 'ID of the task', '4c2a8e6f0b1d3c5a7e909a3c1f0e5b7d'),
    'task.category': macro('Category', 'Category of the task', 'number_management'),
    'task.action': macro('Action', 'Action of the task', 'add'),
    'task.file_name': macro('File', 'Name of the input file', 'numbers.csv'),
    'task.status': macro('Status', 'Result of the task', 'success'),
    'task.success_count': macro('Successes', 'Successful rows', '998'),
    'task.failure_count': macro('Failures', 'Failed rows', '2'),
  },
  subject: 'Task {{task.category}}/{{task.action}} finished: {{task.status}}',
  ...body(
    'The task {{task.id}} of the account {{account.name}} has finished.',
    'Action: {{task.category}}/{{task.action}}\nInput: {{task.file_name}}\nStatus: {{task.status}}\nRows done: {{task.success_count}}\nRows failed: {{task.failure_count}}',
  ),
})
