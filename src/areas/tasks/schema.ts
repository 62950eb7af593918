import type { Static } from 'typebox'
import { anyObject, anyText, choice, flag, gregorian, integer, list, must, open } from '../../lib/schema.ts'

export const taskStatuses = [
  'pending',
  'executing',
  'stopped',
  'success',
  'failure',
  'partial',
  'internal_error',
] as const

/** A task as it is told: in `metadata` of what is about one task, in the rows of the list. */
export const TaskRecord = open({
  id: must(anyText()),
  account_id: must(anyText({ description: 'The account that owns the task' })),
  auth_account_id: must(anyText({ description: 'The account that made it' })),
  category: must(anyText()),
  action: must(anyText()),
  status: must(choice(taskStatuses)),
  created: must(gregorian('When it was made')),
  submit_timestamp: must(gregorian('The same')),
  start_timestamp: gregorian('When it was started'),
  end_timestamp: gregorian('When it ended'),
  node: anyText({ description: 'The server that runs it' }),
  file_name: anyText({ description: 'Name of the input file' }),
  total_count: integer({ description: 'Rows of the input' }),
  success_count: integer(),
  failure_count: integer(),
  csvs: list(anyText(), { description: 'Names of the CSVs that can be read' }),
  dry_run: flag({ description: 'Rows are judged, nothing is changed' }),
  retry_of: anyText({ description: 'The task whose failed rows these are' }),
  parameters: anyObject({ description: 'What an action without input was told' }),
  estimated_seconds_left: integer({ description: 'While it runs and its pace is known' }),
})

export const TaskRequest = open({
  records: list(anyObject(), { description: 'Rows, instead of a CSV body' }),
  file_name: anyText({ description: 'Name of the input file' }),
})

export type TaskRequest = Static<typeof TaskRequest>

/** Answers about one task have no data: the record is in `metadata`. */
export const NoData = open({})

export const TaskHelp = open({
  tasks: must(
    anyObject({
      description: 'Category -> action -> description, doc, expected_content, mandatory, optional',
    }),
  ),
})
