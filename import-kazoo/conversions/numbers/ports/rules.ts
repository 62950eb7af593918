// Port requests: they are kept as they are, and say which numbers are on their way.
import { gregorianUnixOffset } from '../../../../src/lib/gregorian.ts'
import { isObject, type Json, present } from '../../../../src/lib/json.ts'
import type { Converted, KazooDocument } from '../../../documents/document.ts'
import { integerIn, isGone, textIn } from '../../../documents/fields.ts'
import { converted, draftOf, notesOf } from '../../findings.ts'
import { keepDocument } from '../../kept/rules.ts'
import { objectIn, readFields, text } from '../../tables.ts'
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

// Its PIN is the customer's secret with the losing carrier: it is not taken.
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

/** A port request: kept whole, its files listed. Its numbers come from it where nothing else tells of them. */
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
  return keepDocument(document, isThere ? owner : context.systemId, { drafts })
}
