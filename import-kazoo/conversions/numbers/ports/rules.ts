// Port requests: they are kept as they are, and say which numbers are on their way.
import { gregorianUnixOffset } from '../../../../src/lib/gregorian.ts'
import { isObject, type Json } from '../../../../src/lib/json.ts'
import type { Converted, Draft, KazooDocument } from '../../../documents/document.ts'
import { integerIn, isGone, textIn, timesOf } from '../../../documents/fields.ts'
import { converted } from '../../findings.ts'
import { keepDocument } from '../../kept/rules.ts'
import { type NumberContext, numberOf } from '../rules.ts'

/** A number in an open port request. */
export interface PortedNumber {
  accountId: string
  /** What the number tells of its port. */
  porting: Json
}

// What is not handed in yet, and what is over, moves no number.
const openStates: ReadonlySet<string> = new Set(['submitted', 'pending', 'scheduled', 'rejected'])

const isOpen = ({ fields }: KazooDocument) =>
  !isGone(fields) && openStates.has(textIn(fields, 'pvt_port_state') ?? textIn(fields, 'port_state') ?? '')

const dateIn = (fields: Json): string | undefined => {
  const seconds = integerIn(fields, 'transfer_date')
  if (seconds === undefined) return textIn(fields, 'transfer_date')
  return new Date((seconds - gregorianUnixOffset) * 1000).toISOString().slice(0, 10)
}

// Field of a number's port -> where the request says it. Its PIN is the customer's secret with the losing carrier.
const places = {
  service_provider: ['bill', 'carrier'],
  billing_account_id: ['bill', 'account_number'],
  billing_name: ['bill', 'name'],
  billing_telephone_number: ['bill', 'btn'],
  billing_street_address: ['bill', 'street_address'],
  billing_extended_address: ['bill', 'extended_address'],
  billing_locality: ['bill', 'locality'],
  billing_region: ['bill', 'region'],
  billing_postal_code: ['bill', 'postal_code'],
} as const

const portingOf = ({ id, fields }: KazooDocument): Json => {
  const date = dateIn(fields)
  const told = Object.entries(places).flatMap(([field, place]) => {
    const text = textIn(fields, ...place)
    return text === undefined ? [] : [[field, text] as const]
  })
  return {
    port_id: id,
    ...Object.fromEntries(told),
    ...(date === undefined ? {} : { requested_port_date: date }),
  }
}

/** The numbers of the open port requests among some documents. */
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

/** A number that no database of numbers may have yet. */
const draftOf = (
  document: KazooDocument,
  number: string,
  port: PortedNumber,
  context: NumberContext,
): Draft => ({
  as: 'number_by_hearsay',
  accountId: port.accountId,
  id: number,
  ...timesOf(document.fields),
  doc: { porting: port.porting },
  facts: {
    state: 'port_in',
    carrier: 'knm_local',
    usedBy: context.uses.of(port.accountId, number)[0] ?? '',
    hidden: { features: { local: {} } },
  },
  files: [],
})

/** A port request: kept whole, its files listed. Its numbers come from it where nothing else tells of them. */
export const convertPortRequest = (document: KazooDocument, context: NumberContext): Converted => {
  if (isGone(document.fields)) return converted(document, 'skipped')
  const drafts = portsIn([document], context).map(([number, port]) =>
    draftOf(document, number, port, context),
  )
  const owner = textIn(document.fields, 'pvt_account_id')
  const isThere = owner !== undefined && context.accounts.has(owner)
  return keepDocument(document, isThere ? owner : context.systemId, { drafts })
}
