import { gregorianUnixOffset } from '../../src/lib/gregorian.ts'
import { isObject, type Json, present } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import { integerIn, isGone, textIn } from '../documents/fields.ts'
import { converted, draftOf, finding, imported, leftOut, notesOf } from './findings.ts'
import {
  type NumberContext,
  type NumberUses,
  numberOf,
  type PortedNumber,
  stateTextOf,
  type Use,
} from './numbers.rules.ts'
import { preserveDocument } from './preserved.rules.ts'
import { objectIn, readFields, text } from './tables.ts'

const textsIn = (value: unknown) =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []

const didsIn = (fields: unknown): string[] => {
  const servers = memberOf(fields, 'servers')
  return (Array.isArray(servers) ? servers : []).flatMap((server) => {
    const dids = memberOf(server, 'DIDs')
    return isObject(dids) ? Object.keys(dids) : []
  })
}

// Shorter texts are extensions.
const fewestDigits = 10

/** Callflows also list extensions and words. */
const phoneNumberIn = (text: string): string | undefined =>
  text.startsWith('+') || text.replace(/\D/g, '').length >= fewestDigits ? numberOf(text) : undefined

const listedBy = ({ type, fields }: KazooDocument): { use: Use; texts: string[] } | undefined => {
  if (type === 'callflow') return { use: 'callflow', texts: textsIn(fields.numbers) }
  return type === 'sys_info' ? { use: 'trunkstore', texts: didsIn(fields) } : undefined
}

export const usesIn = (documents: Iterable<KazooDocument>): (readonly [number: string, use: Use])[] => {
  const found: (readonly [string, Use])[] = []
  for (const document of documents) {
    const listed = isGone(document.fields) ? undefined : listedBy(document)
    if (!listed) continue
    for (const text of listed.texts) {
      const number = phoneNumberIn(text)
      if (number !== undefined) found.push([number, listed.use])
    }
  }
  return found
}

export const createUses = (): NumberUses & {
  add(accountId: string, found: Iterable<readonly [number: string, use: Use]>): void
} => {
  const uses = new Map<string, readonly Use[]>()
  const keyOf = (accountId: string, number: string) => `${accountId}${number}`
  return {
    add(accountId, found) {
      for (const [number, use] of found) {
        const key = keyOf(accountId, number)
        const known = uses.get(key) ?? []
        if (!known.includes(use)) uses.set(key, [...known, use])
      }
    },
    of: (accountId, number) => uses.get(keyOf(accountId, number)) ?? [],
  }
}

const ownerOf = ({ fields }: KazooDocument) =>
  textIn(fields, 'pvt_assigned_to') ?? textIn(fields, 'pvt_account_id')

export const poolsIn = (
  documents: Iterable<KazooDocument>,
  { accounts }: Pick<NumberContext, 'accounts'>,
): (readonly [number: string, accountId: string])[] => {
  const found: (readonly [string, string])[] = []
  for (const document of documents) {
    const [number, owner] = [numberOf(document.id), ownerOf(document)]
    if (number === undefined || owner === undefined || isGone(document.fields)) continue
    if (accounts.has(owner)) found.push([number, owner])
  }
  return found
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
  if (number === undefined) {
    const unreadable = finding(document, 'needs_hand', 'number_unreadable', { field: '_id', old: id })
    return preserveDocument(document, systemId, { findings: [unreadable] })
  }
  const owner = ownerOf(document) ?? ''
  if (!accounts.has(owner))
    return leftOut(document, 'pool_owner_gone', { field: 'pvt_assigned_to', old: owner })
  const facts = { carrier: `knm_${pool}`, isTaken: stateTextOf(fields) === 'in_service' }
  return imported(document, 'pool_number', owner, { id: number, facts })
}

// Ports that are not submitted or are over move no number.
const openStates: ReadonlySet<string> = new Set(['submitted', 'pending', 'scheduled', 'rejected'])

const isOpen = ({ fields }: KazooDocument) =>
  !isGone(fields) && openStates.has(textIn(fields, 'pvt_port_state') ?? textIn(fields, 'port_state') ?? '')

const dateIn = (fields: Json): string | undefined => {
  const seconds = integerIn(fields, 'transfer_date')
  if (seconds === undefined) return textIn(fields, 'transfer_date')
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

const portingOf = (document: KazooDocument): Json => ({
  port_id: document.id,
  ...readFields(portFields, objectIn(document.fields, 'bill') ?? {}, notesOf(document)),
  ...present({ requested_port_date: dateIn(document.fields) }),
})

export const portsIn = (
  documents: Iterable<KazooDocument>,
  { accounts }: Pick<NumberContext, 'accounts'>,
): (readonly [number: string, port: PortedNumber])[] => {
  const found: (readonly [string, PortedNumber])[] = []
  for (const document of documents) {
    const accountId = textIn(document.fields, 'pvt_account_id')
    const { numbers } = document.fields
    if (!isOpen(document) || accountId === undefined || !accounts.has(accountId)) continue
    if (!isObject(numbers)) continue
    for (const number of Object.keys(numbers).map(numberOf))
      if (number !== undefined) found.push([number, { accountId, porting: portingOf(document) }])
  }
  return found
}

/** The request is preserved. Its numbers are hearsay for numbers that nothing else describes. */
export const convertPortRequest = (document: KazooDocument, context: NumberContext): Converted => {
  if (isGone(document.fields)) return converted(document, 'skipped')
  const drafts = portsIn([document], context).map(([number, { accountId, porting }]) =>
    draftOf(document, 'number_by_hearsay', accountId, {
      id: number,
      doc: { porting },
      facts: {
        state: 'port_in',
        carrier: 'knm_local',
        usedBy: context.uses.of(accountId, number)[0] ?? '',
        hidden: { features: { local: {} } },
      },
    }),
  )
  const owner = textIn(document.fields, 'pvt_account_id')
  const isThere = owner !== undefined && context.accounts.has(owner)
  return preserveDocument(document, isThere ? owner : context.systemId, { drafts })
}
