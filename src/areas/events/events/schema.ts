import { anyObject, anyText, choice, closed, gregorian, must } from '../../../lib/schema.ts'

const Person = closed({ id: anyText(), account_id: anyText() })

const EventActor = closed({
  type: must(choice(['user', 'api_key', 'impersonator', 'task', 'system'])),
  id: anyText(),
  account_id: anyText(),
  as: Person,
})

const EventRecord = closed({ kind: must(anyText()), id: must(anyText()) })

export const Event = closed(
  {
    sequence: must(
      anyText({ description: 'Its place in the order of everything; as text it sorts like the place' }),
    ),
    type: must(anyText({ description: 'user.edited, balance.low and so on' })),
    account_id: must(anyText()),
    at: must(gregorian('When it was committed')),
    actor: must(EventActor),
    request_id: must(anyText()),
    record: must(EventRecord),
    after: anyObject({ description: 'The public form after it; absent of what is gone' }),
    before: anyObject({ description: 'The public form before it, where with_before asks for it' }),
  },
  { title: 'Event' },
)
