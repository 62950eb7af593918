import type { Localized } from '../../../mail/languages.ts'
import { macro, notice } from '../../../mail/notices.ts'
import type { TaskStatus } from './rules.ts'

const inProgress = { en: 'in progress', de: 'in Arbeit' }

export const statusTexts: Readonly<Record<TaskStatus, Localized>> = {
  pending: inProgress,
  executing: inProgress,
  stopped: { en: 'stopped', de: 'angehalten' },
  success: { en: 'all rows done', de: 'alle Zeilen erledigt' },
  failure: { en: 'all rows failed', de: 'alle Zeilen fehlgeschlagen' },
  partial: { en: 'some rows failed', de: 'einige Zeilen fehlgeschlagen' },
  internal_error: { en: 'ended by a server error', de: 'durch einen Serverfehler beendet' },
}

export const taskFinishedNotice = notice(
  'task_finished',
  {
    friendlyName: 'Task finished',
    category: 'account',
    to: 'original',
    macros: {
      'task.id': macro('Task id', 'ID of the task', '4c2a8e6f0b1d3c5a7e909a3c1f0e5b7d'),
      'task.category': macro('Category', 'Category of the task', 'number_management'),
      'task.action': macro('Action', 'Action of the task', 'add'),
      'task.file_name': macro('File', 'Name of the input file', 'numbers.csv'),
      'task.status': macro('Status', 'Result of the task', statusTexts.partial),
      'task.success_count': macro('Successes', 'Successful rows', '998'),
      'task.failure_count': macro('Failures', 'Failed rows', '2'),
    },
  },
  {
    en: [
      'Task {{task.category}}/{{task.action}} finished: {{task.status}}',
      'The task {{task.category}}/{{task.action}} of the account {{account.name}} has finished: {{task.status}}.',
      'Rows done: {{task.success_count}}\nRows failed: {{task.failure_count}}\nInput: {{task.file_name}}\nID: {{task.id}}',
      'Open the task to download the result of each row.',
    ],
    de: [
      'Aufgabe {{task.category}}/{{task.action}} beendet: {{task.status}}',
      'Die Aufgabe {{task.category}}/{{task.action}} des Kontos {{account.name}} ist beendet: {{task.status}}.',
      'Erledigte Zeilen: {{task.success_count}}\nFehlgeschlagene Zeilen: {{task.failure_count}}\nEingabe: {{task.file_name}}\nID: {{task.id}}',
      'Öffnen Sie die Aufgabe, um das Ergebnis jeder Zeile herunterzuladen.',
    ],
  },
)
