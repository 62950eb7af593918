import { anyText, choice, closed, gregorian, integer, must } from '../../../lib/schema.ts'

/** An errand as operators see it: never what it says. */
export const WorkRecord = closed(
  {
    id: must(anyText({ description: 'One within its kind' })),
    kind: must(anyText({ description: 'mail, transactions, synchronization and the like' })),
    account_id: must(anyText({ description: 'Whose it is; system when it is of no account' })),
    state: must(choice(['waiting', 'done', 'failed'])),
    attempts: must(integer({ description: 'How often it was tried' })),
    due: gregorian('When it is tried next; only while it waits'),
    since: must(gregorian('When it was asked for')),
    outcome: must(anyText({ description: 'What came of it last' })),
    finished: gregorian('When it ended'),
  },
  { title: 'Work' },
)
