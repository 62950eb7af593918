import { isObject, isTrue, type Json } from '../../../src/lib/json.ts'
import { decimalsOf, dollarsOfUnits, unitsOfDollars } from '../../../src/lib/money.ts'
import type { Converted, Draft, Finding, KazooDocument } from '../../documents/document.ts'
import { isWrittenAsFraction, numberLiterals } from '../../documents/exact-numbers.ts'
import { isGone, publicPart, textIn, timesOf } from '../../documents/fields.ts'
import type { Said } from '../plans/prices.ts'

/** What a client says of an account in Kazoo, and only its operator here. */
const ofOperatorHere = ['id', 'allow_postpay', 'max_postpay_amount']

const plainKeys = [
  'calls',
  'resource_consuming_calls',
  'twoway_trunks',
  'inbound_trunks',
  'outbound_trunks',
  'burst_trunks',
] as const
const switches = [
  'enabled',
  'allow_prepay',
  'allow_postpay',
  'soft_limit_inbound',
  'soft_limit_outbound',
] as const
const bundles = ['bundled_twoway_trunks', 'bundled_inbound_trunks', 'bundled_outbound_trunks'] as const
const amounts = ['max_postpay_amount', 'reserve_amount'] as const

/** Dollars of what is written: a fraction is dollars, a whole number units. Its sign says nothing. */
const dollarsIn = (
  document: KazooDocument,
  literals: ReturnType<typeof numberLiterals>,
  key: string,
  say: (said: Said) => void,
): number | undefined => {
  const literal = literals(key) ?? textIn(document.fields, key)?.trim()
  const decimals = literal === undefined ? undefined : decimalsOf(literal)
  if (literal === undefined || decimals === undefined) return undefined
  const units = isWrittenAsFraction(literal) ? unitsOfDollars(literal) : Number(literal)
  const dollars = Math.abs(dollarsOfUnits(units))
  if (isWrittenAsFraction(literal) && decimals > 4)
    say({ severity: 'repaired', code: 'price_rounded', field: key, old: literal, new: String(dollars) })
  return dollars
}

const singular = (type: string) => type.replace(/s$/, '')

/** What the operator allows: the private half of the document. */
const operatorPart = (document: KazooDocument, say: (said: Said) => void): Json => {
  const { fields, text } = document
  const literals = numberLiterals(text)
  const of = (keys: readonly string[], read: (value: unknown, key: string) => unknown) =>
    Object.fromEntries(
      keys.flatMap((key) => {
        const value = read(fields[`pvt_${key}`], `pvt_${key}`)
        return value === undefined || value === null ? [] : [[key, value]]
      }),
    )
  return {
    ...of(plainKeys, (value) => value),
    ...of(switches, (value) => (value === undefined ? undefined : isTrue(value))),
    ...of(bundles, (value) => (typeof value === 'string' && value !== '' ? singular(value) : undefined)),
    ...of(amounts, (_, key) => dollarsIn(document, literals, key, say)),
    ...of(['allotments', 'discounts'], (value) =>
      isObject(value) && Object.keys(value).length > 0 ? value : undefined,
    ),
  }
}

const convertNewest = (document: KazooDocument, accountId: string): Converted => {
  const { database, id, fields } = document
  const findings: Finding[] = []
  const say = (said: Said) => void findings.push({ database, id, ...said })
  const rules = fields.pvt_inbound_channels_per_did_rules
  if (isObject(rules) && Object.keys(rules).length > 0)
    say({
      severity: 'left_out',
      code: 'channels_per_number_left_out',
      field: 'pvt_inbound_channels_per_did_rules',
    })
  const operator = operatorPart(document, say)
  const draft = (as: string, doc: Json): Draft => ({
    ...{ as, accountId, id: accountId, doc, facts: {}, files: [] },
    ...timesOf(fields),
  })
  const drafts = [draft('limits', publicPart(fields, ofOperatorHere))]
  if (Object.keys(operator).length > 0) drafts.push(draft('operator_limits', operator))
  return { document, outcome: 'imported', drafts, findings }
}

const newestFirst = (a: KazooDocument, b: KazooDocument) =>
  timesOf(b.fields).modified - timesOf(a.fields).modified || (a.id < b.id ? -1 : 1)

/** What becomes of the limits of an account. Very old ones may lie there under ids of their own: the newest ones hold. */
export const convertLimits = (documents: readonly KazooDocument[], accountId: string): Converted[] => {
  const gone = documents.filter(({ fields }) => isGone(fields))
  const [newest, ...older] = documents.filter(({ fields }) => !isGone(fields)).toSorted(newestFirst)
  const skipped = (document: KazooDocument, findings: Finding[]): Converted => ({
    document,
    outcome: 'skipped',
    drafts: [],
    findings,
  })
  return [
    ...(newest ? [convertNewest(newest, accountId)] : []),
    ...older.map((document) => {
      const { database, id } = document
      return skipped(document, [{ severity: 'left_out', code: 'limits_superseded', database, id }])
    }),
    ...gone.map((document) => skipped(document, [])),
  ]
}
