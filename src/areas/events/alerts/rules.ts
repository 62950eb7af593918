import { failureKind, type Problems, plain } from '../../../lib/failure.ts'
import { present } from '../../../lib/json.ts'
import type { Alert, AlertRow } from './schema.ts'

export const alertsDisabled = failureKind('disabled', plain(400, 'disabled', 'entity disabled'))

// Recipients are [type, value]; clients may send the pair in the other order, as the specification prints it.

type Audience = 'users' | 'admins'

/** A recipient in one form. */
type Key =
  | readonly [type: 'all' | 'resellers', value: Audience]
  | readonly [type: 'user', value: string]
  | readonly [type: string, value: string]
  | readonly [type: 'descendants', value: readonly [accountId: string, audience: Audience]]

type Recipient = Alert['to'][number]

const groups = ['all', 'resellers'] as const
const audiences: Readonly<Record<string, Audience>> = {
  all: 'users',
  user: 'users',
  users: 'users',
  admins: 'admins',
}
const idForm = /^[0-9a-f]{32}$/

const keysOfPair = (type: string, value: string): Key[] => {
  const isGroup = groups.some((group) => group === type)
  if ((isGroup || idForm.test(type)) && audiences[value]) return [[type, audiences[value]]]
  if (idForm.test(type) && idForm.test(value)) return [[type, value]]
  if (type === 'descendants' && idForm.test(value)) return [['descendants', [value, 'users']]]
  // The users of a reseller account.
  if (type === 'resellers' && idForm.test(value)) return [[value, 'users']]
  return []
}

/** The keys under which a recipient finds the alert; none: the recipient is unknown. */
export const keysOf = ({ type, value }: Recipient): Key[] => {
  if (typeof value !== 'string') {
    const [accountId = '', audience = ''] = value
    const named = audiences[audience]
    return type === 'descendants' && idForm.test(accountId) && named
      ? [['descendants', [accountId, named]]]
      : []
  }
  const found = keysOfPair(type, value)
  if (found.length > 0) return found
  const audience = type === 'all' ? undefined : audiences[type]
  if (!audience) return []
  // `user` with an id is a user, or all users of an account: ids never collide.
  if (type === 'user' && idForm.test(value)) return [['user', value], ...keysOfPair(value, audience)]
  return keysOfPair(value, audience)
}

export const accountsIn = (recipient: Recipient): string[] =>
  keysOf(recipient).flatMap(([type, value]) => {
    if (type === 'descendants') return [value[0]]
    return idForm.test(type) ? [type] : []
  })

/** The key as the store has it. */
export const keyText = ([type, value]: Key) => [type, value].flat().join('/')

const unknownRecipient =
  'Unknown recipient. Use the type `all`, `resellers` or an account id with the value `users` or `admins`, an account id with a user id, or `descendants` with [account id, `users` or `admins`]'

export const recipientProblems = (to: readonly Recipient[]): Problems =>
  Object.fromEntries(
    to.flatMap((recipient, index) => {
      const value = [recipient.type, recipient.value].flat()
      const problem = { enum: { message: unknownRecipient, value } }
      return keysOf(recipient).length > 0 ? [] : [[`to.${index}`, problem]]
    }),
  )

export interface Reader {
  accountId: string
  /** Top first. */
  above: readonly string[]
  isReseller: boolean
  isAdmin: boolean
  /** Undefined for an API key. */
  userId: string | undefined
}

export const keysFor = (reader: Reader): Key[] => {
  const { accountId, above, isReseller, isAdmin, userId } = reader
  const seen: Audience[] = isAdmin ? ['users', 'admins'] : ['users']
  const own: Key[] =
    userId === undefined
      ? []
      : [
          [accountId, userId],
          ['user', userId],
        ]
  return [
    ...own,
    ...seen.flatMap((audience): Key[] => [
      [accountId, audience],
      ...(isReseller ? ([['resellers', audience]] as const) : []),
      ['all', audience],
      ...above.map((id): Key => ['descendants', [id, audience]]),
    ]),
  ]
}

/** The first recipient that matches a reader. */
export const keyFor = (alert: Alert, texts: ReadonlySet<string>): Key | undefined =>
  alert.to.flatMap(keysOf).find((key) => texts.has(keyText(key)))

export const isExpired = ({ expiration_date: end }: { expiration_date?: number | undefined }, now: number) =>
  end !== undefined && end <= now

/** Whether only one account and its sub-accounts see the alert: then its admins may remove it. */
export const isOnlyFor = (alert: Alert, accountId: string) =>
  alert.to.flatMap(keysOf).every(([type, value]) => {
    if (type === 'user') return value === accountId
    return type === accountId || (type === 'descendants' && value[0] === accountId)
  })

/** Flat, and once more under `value`. */
export const rowOf = (
  id: string,
  alert: Omit<Alert, 'to'>,
  more: { key: Key; clearable: boolean; created?: number },
) => {
  const { title, message, category, level, metadata, from, expiration_date } = alert
  const { key, clearable, created } = more
  const flat = present({ id, title, message, category, level, metadata, from, expiration_date, created })
  return { ...flat, key, value: flat, clearable } as unknown as AlertRow
}
