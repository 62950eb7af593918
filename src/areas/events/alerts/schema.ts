import type { Static } from 'typebox'
import {
  anyObject,
  anyText,
  choice,
  either,
  flag,
  gregorian,
  id,
  list,
  must,
  number,
  open,
  text,
  typed,
} from '../../../lib/schema.ts'

const Sender = open({
  type: must(choice(['account', 'user'])),
  value: must(text(1, 64, { description: 'Its id' })),
})

const Recipient = open({
  type: must(
    text(1, 32, {
      description:
        'all, resellers, descendants or an account ID; or, in reverse order, users, user or admins',
    }),
  ),
  value: must(
    either([text(1, 64), list(text(1, 64), { minItems: 2, maxItems: 2 })], {
      description:
        'all, users, admins or a user ID; with descendants: [account ID, users or admins]; after users or admins: their account',
    }),
  ),
})

const AlertMark = open({
  name: anyText(),
  state: anyText(),
  transition: list(anyObject()),
  available: number(),
  threshold: number(),
})

const fields = {
  title: must(text(1, 256)),
  message: must(typed(['string', 'object'], { minLength: 1, maxLength: 8192 })),
  category: text(1, 128),
  level: text(1, 64, { default: 'info' }),
  expiration_date: gregorian('Time when the alert expires'),
  metadata: typed(['object', 'array'], { items: AlertMark }),
  from: must(list(Sender, { minItems: 1, maxItems: 100 })),
  to: must(list(Recipient, { minItems: 1, maxItems: 100 })),
}

export const Alert = open(fields, { title: 'Alert' })
export type Alert = Static<typeof Alert>

export const alertKeys: readonly string[] = Object.keys(fields)

export const AlertRecord = open({ id: must(id()), ...fields }, { title: 'Alert record' })

export const AlertRow = open(
  {
    id: must(anyText()),
    title: must(anyText()),
    message: must(typed(['string', 'object'])),
    category: anyText(),
    level: anyText(),
    metadata: typed(['object', 'array']),
    from: must(list(Sender)),
    key: must(list(either([anyText(), list(anyText())]), { description: 'Recipients: type and value' })),
    value: must(anyObject({ description: 'The same value, for clients that read it here' })),
    clearable: must(flag({ description: 'Whether it can be deleted' })),
  },
  { title: 'Alert row' },
)
export type AlertRow = Static<typeof AlertRow>
