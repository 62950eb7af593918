import { type Static, Type } from 'typebox'
import {
  anyText,
  choice,
  closed,
  either,
  gregorian,
  id,
  integer,
  list,
  must,
  open,
  text,
} from '../../../lib/schema.ts'

const digest = (description: string) => text(64, 64, { pattern: '^[0-9a-f]*$', description })

const whatever = (description: string) => Type.Unsafe<unknown>({ description })

const actor = closed({
  type: must(choice(['user', 'api_key', 'impersonator', 'task', 'system'])),
  id: anyText({
    description:
      'ID of the user, task or named key; for the API key of an account, the account ID. Absent for the system',
  }),
  account_id: anyText({ description: 'The account that the actor is of' }),
  as: open({ id: anyText(), account_id: anyText() }, { description: 'User as whom an impersonator acted' }),
  client_address: anyText({ description: 'Client address' }),
})

const change = closed({
  path: must(anyText({ description: 'Dotted; members of lists by their place' })),
  from: whatever('Absent for an added record'),
  to: whatever('Absent for a removed record'),
})

export const AuditEntry = closed(
  {
    id: must(id()),
    account_id: must(
      anyText({ description: 'The account of the record; the master account for records of the system' }),
    ),
    at: must(gregorian('Time of the commit')),
    actor: must(actor),
    request_id: must(anyText({ description: 'ID of the request, or the name of the server’s own job' })),
    action: must(choice(['created', 'edited', 'deleted'])),
    record: must(
      closed({
        kind: must(anyText()),
        id: must(anyText()),
        name: must(anyText({ description: 'Its name; its ID if it has none' })),
      }),
    ),
    changes: must(list(change, { description: 'Changed values; secrets are shown as ***' })),
    sequence: must(anyText({ description: 'Position in the order of all events: the ID of its event' })),
    digest: must(digest('SHA-256 of the previous digest and the content of this entry')),
    previous_digest: must(
      either([digest('Digest of the previous entry of the account'), Type.Null()], {
        description: 'null of the first entry of an account',
      }),
    ),
  },
  { title: 'Audit entry' },
)

/** The document of a removal entry: what was removed, and where the chain continues. */
export const RemovedEntries = closed({
  entries: must(integer({ minimum: 1 })),
  until: must(gregorian('Time of the last one')),
  sequence: must(anyText({ description: 'The place of the last of them' })),
  digest: must(digest('Digest of the last one, which the first remaining entry contains')),
})
export type RemovedEntries = Static<typeof RemovedEntries>
