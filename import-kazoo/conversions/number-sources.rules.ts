import { localCarrier } from '../../src/areas/numbers/phone-numbers/rules.ts'
import { gregorianUnixOffset } from '../../src/lib/gregorian.ts'
import { isObject, type Json, present } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import { integerIn, isGone, lastTime, listIn, textIn } from '../documents/fields.ts'
import { converted, draftOf, leftOut, notesOf } from './findings.ts'
import {
  type NumberContext,
  type NumberUses,
  numberOf,
  type PortedNumber,
  preserveNumber,
  stateTextOf,
  type Use,
} from './numbers.rules.ts'
import { preserveDocument } from './preserved.rules.ts'
import { objectIn, readFields, text } from './tables.ts'

const keysIn = (value: unknown) => (isObject(value) ? Object.keys(value) : [])

// Shorter texts are extensions.
const fewestDigits = 10

/** Callflows also list extensions and words. */
const phoneNumberIn = (text: unknown): string | undefined =>
  typeof text === 'string' && (text.startsWith('+') || text.replace(/\D/g, '').length >= fewestDigits)
    ? numberOf(text)
    : undefined

const listedBy: Readonly<Record<string, { use: Use; numbersIn(fields: Json): readonly unknown[] }>> = {
  callflow: { use: 'callflow', numbersIn: ({ numbers }) => listIn(numbers) },
  sys_info: {
    use: 'trunkstore',
    numbersIn: ({ servers }) => listIn(servers).flatMap((server) => keysIn(memberOf(server, 'DIDs'))),
  },
}

export const usesIn = (documents: readonly KazooDocument[]): (readonly [number: string, use: Use])[] =>
  documents.flatMap(({ type, fields }) => {
    const listed = isGone(fields) || !Object.hasOwn(listedBy, type) ? undefined : listedBy[type]
    if (!listed) return []
    const numbers = listed.numbersIn(fields).flatMap((text) => phoneNumberIn(text) ?? [])
    return numbers.map((number) => [number, listed.use] as const)
  })

export const createUses = (): NumberUses & {
  add(accountId: string, found: Iterable<readonly [number: string, use: Use]>): void
} => {
  const uses = new Map<string, readonly Use[]>()
  const of = (accountId: string, number: string) => uses.get(accountId + number) ?? []
  return {
    of,
    add(accountId, found) {
      for (const [number, use] of found) {
        const known = of(accountId, number)
        if (!known.includes(use)) uses.set(accountId + number, [...known, use])
      }
    },
  }
}

const ownerOf = ({ fields }: KazooDocument) =>
  textIn(fields, 'pvt_assigned_to') ?? textIn(fields, 'pvt_account_id')

export const poolsIn = (
  document: KazooDocument,
  { accounts }: Pick<NumberContext, 'accounts'>,
): (readonly [number: string, accountId: string])[] => {
  const [number, owner] = [numberOf(document.id), ownerOf(document)]
  const isKnown = number !== undefined && owner !== undefined && accounts.has(owner)
  return isKnown && !isGone(document.fields) ? [[number, owner]] : []
}

/** The number itself shows who took it out of the pool. */
export const convertPoolEntry = (
  document: KazooDocument,
  pool: 'managed' | 'inum',
  { accounts, systemId }: Pick<NumberContext, 'accounts' | 'systemId'>,
): Converted => {
  const { id, fields } = document
  if (isGone(fields)) return converted(document, 'skipped')
  const number = numberOf(id)
  if (number === undefined) return preserveNumber(document, { systemId }, 'number_unreadable', ['_id', id])
  const owner = ownerOf(document) ?? ''
  if (!accounts.has(owner))
    return leftOut(document, 'pool_owner_gone', { field: 'pvt_assigned_to', old: owner })
  const facts = { carrier: `knm_${pool}`, isTaken: stateTextOf(fields) === 'in_service' }
  return notesOf(document).imported('pool_number', owner, { id: number, facts })
}

// Ports that are not submitted or are over move no number.
const openStates: ReadonlySet<string> = new Set(['submitted', 'pending', 'scheduled', 'rejected'])

const dateIn = (fields: Json): string | undefined => {
  const seconds = integerIn(fields, 'transfer_date')
  if (seconds === undefined) return textIn(fields, 'transfer_date')
  if (seconds <= 0 || seconds > lastTime) return undefined
  return new Date((seconds - gregorianUnixOffset) * 1000).toISOString().slice(0, 10)
}

// The PIN is a secret of the customer and the losing carrier: it is not read.
const portFields = [
  text('service_provider', 'carrier'),
  text('billing_account_id', 'account_number'),
  text('billing_name', 'name'),
  text('billing_telephone_number', 'btn'),
  text('billing_street_address', 'street_address'),
  text('billing_extended_address', 'extended_address'),
  text('billing_locality', 'locality'),
  text('billing_region', 'region'),
  text('billing_postal_code', 'postal_code'),
]

export const portsIn = (
  document: KazooDocument,
  { accounts }: Pick<NumberContext, 'accounts'>,
): (readonly [number: string, port: PortedNumber])[] => {
  const { id, fields } = document
  const accountId = textIn(fields, 'pvt_account_id') ?? ''
  const state = textIn(fields, 'pvt_port_state') ?? textIn(fields, 'port_state') ?? ''
  if (isGone(fields) || !openStates.has(state) || !accounts.has(accountId)) return []
  const porting = {
    port_id: id,
    ...readFields(portFields, objectIn(fields, 'bill') ?? {}, notesOf(document)),
    ...present({ requested_port_date: dateIn(fields) }),
  }
  const numbers = keysIn(fields.numbers).flatMap((one) => numberOf(one) ?? [])
  return numbers.map((number) => [number, { accountId, porting }])
}

/** The request is preserved. Its numbers are hearsay for numbers that nothing else describes. */
export const convertPortRequest = (document: KazooDocument, context: NumberContext): Converted => {
  if (isGone(document.fields)) return converted(document, 'skipped')
  const drafts = portsIn(document, context).map(([number, { accountId, porting }]) => {
    const [usedBy = ''] = context.uses.of(accountId, number)
    const facts = { state: 'port_in', carrier: localCarrier, usedBy, hidden: { features: { local: {} } } }
    return draftOf(document, 'number_by_hearsay', accountId, { id: number, doc: { porting }, facts })
  })
  const owner = textIn(document.fields, 'pvt_account_id') ?? ''
  return preserveDocument(document, context.accounts.has(owner) ? owner : context.systemId, { drafts })
}
