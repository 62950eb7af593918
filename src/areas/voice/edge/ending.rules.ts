import { sameJson } from '../../../lib/json.ts'
import { memberOf } from '../../../lib/member.ts'
import { endedUsers, endsAddress } from '../connectivity/rules.ts'
import type { Connectivity } from '../connectivity/schema.ts'
import { type DeviceDoc, endsRegistration } from '../devices/rules.ts'

/** A change of a record, with its documents as JSON texts. */
interface RecordChange {
  accountId: string
  kind: string
  id: string
  /** Absent: the record is created. */
  before?: string
  /** Absent: the record is deleted. */
  after?: string
}

interface Registered {
  username: string
  /** Absent: the realm of the account. */
  realm?: string | undefined
}

/** Calls and registrations that a change ends. */
export interface EndedUse {
  accountId: string
  kind: 'account' | 'user' | 'device' | 'connectivity'
  id: string
  /** Stored here, because the records may be deleted or renamed before the edges are called. */
  identities: readonly Registered[]
}

interface Docs {
  before: object
  /** Absent: the record is deleted. */
  after: object | undefined
}

const differs = ({ before, after = {} }: Docs, ...fields: readonly string[]) =>
  fields.some((field) => !sameJson(memberOf(before, field), memberOf(after, field)))

/** By kind: the identities whose registrations end. Empty: only calls end. Undefined: nothing ends. */
const kinds: Readonly<Record<EndedUse['kind'], (docs: Docs) => Registered[] | undefined>> = {
  account: (docs) => (docs.after === undefined || differs(docs, 'enabled', 'tree') ? [] : undefined),
  user: (docs) => (docs.after === undefined || differs(docs, 'enabled') ? [] : undefined),
  device({ before, after }) {
    const { sip } = before as DeviceDoc
    if (after && !endsRegistration(before as DeviceDoc, after as DeviceDoc)) return undefined
    return sip?.username === undefined ? [] : [{ username: sip.username, realm: sip.realm }]
  },
  connectivity({ before, after }) {
    const [had, has] = [before as Connectivity, after as Connectivity | undefined]
    const users = endedUsers(had, has)
    if (users.length === 0 && !endsAddress(had, has)) return undefined
    return users.map((username) => ({ username, realm: had.account?.auth_realm }))
  },
}

const isEnding = (kind: string): kind is EndedUse['kind'] => Object.hasOwn(kinds, kind)

const endingOf = ({ accountId, kind, id, before, after }: RecordChange): EndedUse | undefined => {
  if (!isEnding(kind) || before === undefined) return undefined
  const docs = { before: JSON.parse(before), after: after === undefined ? undefined : JSON.parse(after) }
  const identities = kinds[kind](docs)
  return identities && { accountId, kind, id, identities }
}

/** Calls and registrations that a set of changes ends. The deletion of an account ends all of its. */
export const endingsOf = (changes: readonly RecordChange[]): EndedUse[] => {
  const endings = changes.flatMap((change) => endingOf(change) ?? [])
  return [...Map.groupBy(endings, ({ accountId }) => accountId).values()].flatMap((ofAccount) => {
    const whole = ofAccount.find(({ kind }) => kind === 'account')
    return whole ? [{ ...whole, identities: ofAccount.flatMap(({ identities }) => identities) }] : ofAccount
  })
}
