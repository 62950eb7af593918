import type { Static } from 'typebox'
import { anyText, gregorian, id, list, must, open, text, uniqueList } from '../../../lib/schema.ts'
import { scope } from '../../../lib/scopes.ts'

const fields = {
  name: must(text(1, 128)),
  scopes: must(uniqueList(scope, { minItems: 1, maxItems: 200, description: 'Scopes of the key' })),
  expires: gregorian('Time when the key expires; absent: never'),
  networks: uniqueList(text(1, 64), {
    minItems: 1,
    maxItems: 200,
    description: 'Addresses and CIDRs from which the key may be used; absent: any',
  }),
}

/** A further API key of the account, with a name and limits. */
export const ApiKey = open(fields, { title: 'Named API key' })
export type ApiKey = Static<typeof ApiKey>

const lastUsed = gregorian('Time of the last use of the key, within some minutes')

export const ApiKeyRecord = open(
  {
    id: must(id()),
    ...fields,
    last_used: lastUsed,
    key: anyText({ description: 'The key itself: only in the response that creates it' }),
  },
  { title: 'Named API key record' },
)

export const ApiKeyRow = open(
  {
    id: must(id()),
    name: must(anyText()),
    scopes: must(list(anyText())),
    expires: gregorian('Time when the key expires'),
    networks: list(anyText()),
    last_used: lastUsed,
  },
  { title: 'Named API key row' },
)
