import type { Json } from '../../src/lib/json.ts'
import { decimalsOf, dollarsOfUnits, unitsOfDollars } from '../../src/lib/money.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import {
  inOrder,
  isFilled,
  isGone,
  isWrittenAsFraction,
  numberLiterals,
  publicPart,
  textIn,
  timesOf,
} from '../documents/fields.ts'
import { type ExportedDocument, exported, type OwnRecord } from '../export/document.ts'
import { converted, draftOf, leftOut, type Notes, notesOf } from './findings.ts'
import { fieldOf, flag, readFields, writeFields } from './tables.ts'

/** In Kazoo a client sets these; here only the operator does. */
const ofOperatorHere = ['id', 'allow_postpay', 'max_postpay_amount']

const value = fieldOf((fields, key) => fields[key] ?? undefined)
const singular = fieldOf((fields, key) => textIn(fields, key)?.replace(/s$/, ''))
const filledObject = fieldOf((fields, key) => (isFilled(fields[key]) ? fields[key] : undefined))

/** Dollars here; units there. */
const amount = fieldOf(
  (fields, key) => fields[key],
  (dollars) => (typeof dollars === 'number' ? unitsOfDollars(dollars) : dollars),
)

const operatorFields = Object.entries({
  calls: value,
  resource_consuming_calls: value,
  twoway_trunks: value,
  inbound_trunks: value,
  outbound_trunks: value,
  burst_trunks: value,
  enabled: flag,
  allow_prepay: flag,
  allow_postpay: flag,
  soft_limit_inbound: flag,
  soft_limit_outbound: flag,
  bundled_twoway_trunks: singular,
  bundled_inbound_trunks: singular,
  bundled_outbound_trunks: singular,
  max_postpay_amount: amount,
  reserve_amount: amount,
  allotments: filledObject,
  discounts: filledObject,
}).map(([name, field]) => field(name, `pvt_${name}`))

/** Kazoo reads a fraction as dollars and an integer as units. The sign has no meaning. */
const dollarsOf = (field: string, literal: string | undefined, { repaired }: Notes): number | undefined => {
  const decimals = literal === undefined ? undefined : decimalsOf(literal)
  if (literal === undefined || decimals === undefined) return undefined
  const units = isWrittenAsFraction(literal) ? unitsOfDollars(literal) : Number(literal)
  const dollars = Math.abs(dollarsOfUnits(units))
  if (isWrittenAsFraction(literal) && decimals > 4)
    repaired('price_rounded', { field, old: literal, new: String(dollars) })
  return dollars
}

const rulesField = 'pvt_inbound_channels_per_did_rules'

const convertNewest = (document: KazooDocument, accountId: string): Converted => {
  const { fields, text } = document
  const notes = notesOf(document)
  if (isFilled(fields[rulesField])) notes.leftOut('channels_per_number_left_out', { field: rulesField })
  // Only the text of the document shows how amounts are written.
  const literals = numberLiterals(text)
  const amounts = ['pvt_max_postpay_amount', 'pvt_reserve_amount'].map((key) => [
    key,
    dollarsOf(key, literals(key) ?? textIn(fields, key)?.trim(), notes),
  ])
  const operator = readFields(operatorFields, { ...fields, ...Object.fromEntries(amounts) }, notes)
  const draft = (as: string, doc: Json) => draftOf(document, as, accountId, { id: accountId, doc })
  const drafts = [draft('limits', publicPart(fields, ofOperatorHere))]
  if (isFilled(operator)) drafts.push(draft('operator_limits', operator))
  return converted(document, 'imported', { drafts, findings: notes.findings })
}

/** Very old limits may have other ids: the newest document applies. */
export const convertLimits = (documents: readonly KazooDocument[], accountId: string): Converted[] => {
  const gone = documents.filter(({ fields }) => isGone(fields))
  const [newest, ...older] = inOrder(
    documents.filter((document) => !gone.includes(document)),
    ({ id, fields }) => [-timesOf(fields).modified, id],
  )
  return [
    ...(newest ? [convertNewest(newest, accountId)] : []),
    ...older.map((document) => leftOut(document, 'limits_superseded')),
    ...gone.map((document) => converted(document, 'skipped')),
  ]
}

export const exportLimits = (record: Omit<OwnRecord, 'hidden'>, operator: Json): ExportedDocument[] => {
  const all = Object.fromEntries(Object.entries(operator).map(([key, found]) => [`pvt_${key}`, found]))
  const more = { ...all, ...writeFields(operatorFields, operator) }
  return [exported('limits', record, { id: 'limits', more })]
}
