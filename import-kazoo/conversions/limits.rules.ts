import { isObject, isTrue, type Json } from '../../src/lib/json.ts'
import { decimalsOf, dollarsOfUnits, unitsOfDollars } from '../../src/lib/money.ts'
import type { Converted, KazooDocument } from '../documents/document.ts'
import {
  isGone,
  isWrittenAsFraction,
  numberLiterals,
  publicPart,
  textIn,
  timesOf,
} from '../documents/fields.ts'
import { type ExportedDocument, exported, type OwnRecord } from '../export/document.ts'
import { converted, draftOf, leftOut, type Notes, notesOf } from './findings.ts'
import { fieldOf, readFields, writeFields } from './tables.ts'

/** In Kazoo a client sets these; here only the operator does. */
const ofOperatorHere = ['id', 'allow_postpay', 'max_postpay_amount']

const singular = (type: string) => type.replace(/s$/, '')

const value = fieldOf((fields, key) => fields[key] ?? undefined)
const flag = fieldOf((fields, key) => (fields[key] === undefined ? undefined : isTrue(fields[key])))
const bundle = fieldOf((fields, key) => {
  const type = textIn(fields, key)
  return type === undefined ? undefined : singular(type)
})
const filledObject = fieldOf((fields, key) => {
  const found = fields[key]
  return isObject(found) && Object.keys(found).length > 0 ? found : undefined
})

/** Dollars here; units there. */
const amount = fieldOf(
  (fields, key) => fields[key],
  (dollars) => (typeof dollars === 'number' ? unitsOfDollars(dollars) : dollars),
)

const operatorFields = [
  value('calls', 'pvt_calls'),
  value('resource_consuming_calls', 'pvt_resource_consuming_calls'),
  value('twoway_trunks', 'pvt_twoway_trunks'),
  value('inbound_trunks', 'pvt_inbound_trunks'),
  value('outbound_trunks', 'pvt_outbound_trunks'),
  value('burst_trunks', 'pvt_burst_trunks'),
  flag('enabled', 'pvt_enabled'),
  flag('allow_prepay', 'pvt_allow_prepay'),
  flag('allow_postpay', 'pvt_allow_postpay'),
  flag('soft_limit_inbound', 'pvt_soft_limit_inbound'),
  flag('soft_limit_outbound', 'pvt_soft_limit_outbound'),
  bundle('bundled_twoway_trunks', 'pvt_bundled_twoway_trunks'),
  bundle('bundled_inbound_trunks', 'pvt_bundled_inbound_trunks'),
  bundle('bundled_outbound_trunks', 'pvt_bundled_outbound_trunks'),
  amount('max_postpay_amount', 'pvt_max_postpay_amount'),
  amount('reserve_amount', 'pvt_reserve_amount'),
  filledObject('allotments', 'pvt_allotments'),
  filledObject('discounts', 'pvt_discounts'),
]

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

/** Only the text of the document shows how amounts are written. */
const withAmounts = ({ fields, text }: KazooDocument, notes: Notes): Json => {
  const literals = numberLiterals(text)
  const amounts = ['pvt_max_postpay_amount', 'pvt_reserve_amount'].map((key) => [
    key,
    dollarsOf(key, literals(key) ?? textIn(fields, key)?.trim(), notes),
  ])
  return { ...fields, ...Object.fromEntries(amounts) }
}

const convertNewest = (document: KazooDocument, accountId: string): Converted => {
  const { fields } = document
  const notes = notesOf(document)
  const rules = fields.pvt_inbound_channels_per_did_rules
  if (isObject(rules) && Object.keys(rules).length > 0)
    notes.leftOut('channels_per_number_left_out', { field: 'pvt_inbound_channels_per_did_rules' })
  const operator = readFields(operatorFields, withAmounts(document, notes), notes)
  const draft = (as: string, doc: Json) => draftOf(document, as, accountId, { id: accountId, doc })
  const drafts = [draft('limits', publicPart(fields, ofOperatorHere))]
  if (Object.keys(operator).length > 0) drafts.push(draft('operator_limits', operator))
  return converted(document, 'imported', { drafts, findings: notes.findings })
}

const newestFirst = (a: KazooDocument, b: KazooDocument) =>
  timesOf(b.fields).modified - timesOf(a.fields).modified || (a.id < b.id ? -1 : 1)

/** Very old limits may have other ids: the newest document applies. */
export const convertLimits = (documents: readonly KazooDocument[], accountId: string): Converted[] => {
  const gone = documents.filter(({ fields }) => isGone(fields))
  const [newest, ...older] = documents.filter(({ fields }) => !isGone(fields)).toSorted(newestFirst)
  return [
    ...(newest ? [convertNewest(newest, accountId)] : []),
    ...older.map((document) => leftOut(document, 'limits_superseded')),
    ...gone.map((document) => converted(document, 'skipped')),
  ]
}

export const exportLimits = (record: OwnRecord, operator: Json): ExportedDocument[] => {
  const all = Object.fromEntries(Object.entries(operator).map(([key, found]) => [`pvt_${key}`, found]))
  return [
    exported('limits', record, { id: 'limits', more: { ...all, ...writeFields(operatorFields, operator) } }),
  ]
}
