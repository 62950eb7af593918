import type { Static } from 'typebox'
import {
  anyObject,
  anyText,
  choice,
  flag,
  gregorian,
  integer,
  list,
  must,
  number,
  open,
} from '../../../lib/schema.ts'

export const taskStatuses = [
  'pending',
  'executing',
  'stopped',
  'success',
  'failure',
  'partial',
  'internal_error',
] as const

const dollarsField = (description: string) => must(number({ description: `Dollars: ${description}` }))

const ForeseenCharge = open({
  account_id: must(anyText({ description: 'The account that would pay' })),
  name: must(anyText()),
  today: dollarsField('due now; negative: refunded'),
  recurring: dollarsField('increase of the monthly bill; negative: decrease'),
  invoices: must(list(anyObject(), { description: 'As the 402 `accept charges` shows them' })),
})

/** In `metadata` of one task, and in the rows of the list. */
export const TaskRecord = open({
  id: must(anyText()),
  account_id: must(anyText({ description: 'The account that owns the task' })),
  auth_account_id: must(anyText({ description: 'The account that made it' })),
  category: must(anyText()),
  action: must(anyText()),
  status: must(choice(taskStatuses)),
  created: must(gregorian('Creation time')),
  submit_timestamp: must(gregorian('The same')),
  start_timestamp: gregorian('Start time'),
  end_timestamp: gregorian('End time'),
  node: anyText({ description: 'The server that runs it' }),
  file_name: anyText({ description: 'Name of the input file' }),
  total_count: integer({ description: 'Rows of the input' }),
  success_count: integer(),
  failure_count: integer(),
  csvs: list(anyText(), { description: 'Names of the CSVs that can be read' }),
  dry_run: flag({ description: 'Rows are validated, nothing is changed' }),
  accept_charges: flag({
    description: 'For a started task whose rows may cause charges: whether they were accepted at the start',
  }),
  charges: list(ForeseenCharge, {
    description:
      'Charges of a finished dry run if all its rows are accepted at once, for paying accounts that the reader may see; only when a single task is read',
  }),
  retry_of: anyText({ description: 'The task whose failed rows this one repeats' }),
  continuation_of: anyText({ description: 'The stopped task that this one continues' }),
  continued_by: anyText({
    description: 'The task that runs the remaining rows of this stopped one',
  }),
  parameters: anyObject({ description: 'Parameters of an action without input' }),
  estimated_seconds_left: integer({ description: 'Only while it runs and its speed is known' }),
})

export const TaskRequest = open({
  records: list(anyObject(), { description: 'Rows, instead of a CSV body' }),
  file_name: anyText({ description: 'Name of the input file' }),
})

export type TaskRequest = Static<typeof TaskRequest>

/** Responses about one task have the record in `metadata`. */
export const NoData = open({})

export const TaskHelp = open({
  tasks: must(
    anyObject({
      description:
        'Category -> action -> description, doc, expected_content, mandatory, optional; a single requested action also by its name',
    }),
  ),
})
