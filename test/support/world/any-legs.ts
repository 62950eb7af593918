// Call records of any kind for properties, and how lists of them are read.
import fc from 'fast-check'
import { type CdrRow, cdrColumns } from '../../../src/areas/calls/cdrs/columns.ts'
import type { ChunkRequest, Scope } from '../../../src/areas/calls/cdrs/parts.sql.ts'
import { type CdrPlace, type ListChunk, monthAt } from '../../../src/areas/calls/cdrs/places.rules.ts'
import { cellCareOf } from '../../../src/areas/calls/cdrs/rules.ts'

// 2026-01-01T00:00:00Z: records are close to the edge of a month.
export const edge = 63_934_444_800

const words = [
  '',
  'inbound',
  'outbound',
  '+4930',
  '-5',
  '=1+1',
  '@x',
  'a,b',
  'a"b',
  'a\r\nb',
  'ü',
  '＝x',
  '\tx',
  '\u0001\\\u007f\u2028',
  'per_minute',
  '5',
  'a@b',
]
const text = fc.option(fc.oneof(fc.constantFrom(...words), fc.string({ maxLength: 8, unit: 'grapheme' })), {
  nil: null,
})
const storable = text.map((value) => value?.replaceAll('\0', '').toWellFormed() ?? null)
const count = fc.option(fc.integer({ min: 0, max: 5000 }), { nil: null })
const micro = fc.option(fc.integer({ min: 0, max: 4e15 }), { nil: null })

const anyOf = {
  text: storable,
  integer: count,
  json: fc.constantFrom(null, '["a"]', '"b,c"', '[]'),
} as const

type Fields = { [C in (typeof cdrColumns)[number] as C['sql']]: CdrRow[C['sql']] }

const fields = fc.record(
  Object.fromEntries(cdrColumns.map(({ sql, type }) => [sql, anyOf[type]])) as never,
) as unknown as fc.Arbitrary<Fields>

const nothing = Object.fromEntries(cdrColumns.map(({ sql }) => [sql, null])) as unknown as Fields

/** A record with only these fields; without more it is a separate interaction. */
export const bareLeg = (known: Pick<CdrRow, 'account_id' | 'id' | 'created'> & Partial<CdrRow>): CdrRow => {
  const leg = {
    ...nothing,
    interaction_time: known.created,
    interaction_key: known.id,
    owner_id: null,
    channel_created_time: null,
    loopback_leg: null,
    cost: 0,
    reseller_cost: 0,
    rest: null,
    ...known,
  }
  return { ...leg, ...cellCareOf(leg) }
}

const facts = fc.record({
  fields,
  micro,
  created: fc.integer({ min: edge - 20, max: edge + 20 }),
  interaction: fc.integer({ min: 0, max: 12 }),
  owner: fc.constantFrom(null, 'u1', 'u2'),
  loopback: fc.constantFrom(null, 'A', 'B', ''),
  callId: fc.constantFrom('', '=', '"', ','),
})

const rest = fc.constantFrom(
  null,
  '{"app_name":"x"}',
  '{"app_name":"y","custom_channel_vars":{"username":"x","pvt_x":1}}',
  '{"app_name":"z","custom_channel_vars":{"username":"x"}}',
  '{"carrier_cost":1,"custom_channel_vars":{"rate_id":"x","reseller_rate":5}}',
)

/** Makes rows of an account, with separate names. */
export const anyRows = fc.array(fc.tuple(facts, rest), { maxLength: 25 }).map(
  (all) =>
    (accountId: string): CdrRow[] =>
      all.map(([fact, others], index) => {
        // Interactions of one time, some before and some behind the edge of the month.
        const interaction_time = edge - 6 + fact.interaction
        const leg = {
          ...fact.fields,
          account_id: accountId,
          id: `${monthAt(interaction_time)}-${fact.callId}${String(index).padStart(3, '0')}`,
          created: fact.created,
          interaction_time,
          interaction_key: String(fact.interaction % 3),
          owner_id: fact.owner,
          channel_created_time: fact.micro,
          loopback_leg: fact.loopback,
          cost: index,
          reseller_cost: index,
          rest: others,
        }
        return { ...leg, ...cellCareOf(leg) }
      }),
)

export const whole = { from: 0, to: 99_999_999_999, questions: [] }
export const view = { utcOffset: -3600, forReseller: true, omitsEmpty: false }

export const textOf = async (pieces: AsyncIterable<string | Uint8Array>) => {
  const parts: string[] = []
  for await (const piece of pieces) parts.push(Buffer.from(piece as Uint8Array).toString())
  return parts.join('')
}

/** Follows the pages to the end. */
export const pagesOf = async (
  read: (scope: Scope, reading: ChunkRequest) => Promise<ListChunk>,
  scope: Scope,
  { limit, descending }: Pick<ChunkRequest, 'limit' | 'descending'>,
  between: () => Promise<void> = async () => {},
) => {
  const found: CdrRow[] = []
  let after: CdrPlace | undefined
  for (let pages = 0; pages < 1000; pages += 1) {
    const { items, next } = await read(scope, { after, limit, descending, long: false })
    found.push(...items)
    if (!next) return found
    after = next
    await between()
  }
  throw new Error('the pages have no end')
}

const byPlace = (a: CdrRow, b: CdrRow) => a.created - b.created || (a.id < b.id ? -1 : 1)

export const inOrder = (rows: readonly CdrRow[], descending: boolean) => {
  const sorted = [...rows].sort(byPlace)
  return descending ? sorted.reverse() : sorted
}

export const idsOf = (rows: readonly CdrRow[]) => rows.map(({ id }) => id)

const keys = [
  ...cdrColumns.map(({ path }) => path),
  ...['id', 'call_id', 'interaction_id', 'created', 'modified', 'custom_channel_vars.account_id'],
]
const forms = ['filter_', 'filter_not_', 'filter_any_', 'filter_none_', 'filter_array_intersect_all_']
const more = ['filter_array_intersect_any_', 'filter_array_intersect_none_']
const wanted = fc.oneof(
  fc.constantFrom(...words, '202601-000', '202512-001', '0', '1', 'null'),
  fc
    .array(fc.oneof(fc.constantFrom(...words), fc.nat(3), fc.constant(null)), { maxLength: 3 })
    .map((list) => JSON.stringify(list)),
)
/** Filters of a query. */
export const question = fc.oneof(
  fc
    .tuple(fc.constantFrom(...forms, ...more), fc.constantFrom(...keys), wanted)
    .map(([form, key, value]): [string, string] => [form + key, value]),
  fc.tuple(fc.constantFrom('has_key', 'key_missing', 'has_value', 'value_missing'), fc.constantFrom(...keys)),
  fc.tuple(fc.constant('modified_from'), fc.constantFrom('0', String(edge))),
  fc.tuple(fc.constant('modified_to'), fc.constantFrom(String(edge), '9'.repeat(15))),
)
