import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { type CdrRow, columns } from '../../src/areas/cdrs/columns.ts'
import { askedOf } from '../../src/areas/cdrs/filters/rules.ts'
import { createInteractionStore } from '../../src/areas/cdrs/interactions/store.ts'
import type { Place } from '../../src/areas/cdrs/reading/rules.ts'
import { monthAt } from '../../src/areas/cdrs/reading/rules.ts'
import { byChannelTime, cellCareOf, csvLineOf, filterableOf } from '../../src/areas/cdrs/rules.ts'
import { createCdrStore, type LegBatch, type Reading, type Scope } from '../../src/areas/cdrs/store.ts'
import { filterOf, questionsOf } from '../../src/http/answer/filters.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { failure } from '../../src/lib/failure.ts'
import { randomHex } from '../../src/lib/ids.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { createStore } from '../../src/storage/store.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/databases.ts'

// 2026-01-01T00:00:00Z: records lie close to the edge of a month.
const edge = 63_934_444_800

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

type Fields = { [C in (typeof columns)[number] as C['sql']]: CdrRow[C['sql']] }

const fields = fc.record(
  Object.fromEntries(columns.map(({ sql, type }) => [sql, anyOf[type]])) as never,
) as unknown as fc.Arbitrary<Fields>

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
)

/** Makes rows of an account, with names of their own. */
const anyRows = fc.array(fc.tuple(facts, rest), { maxLength: 25 }).map(
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

const whole = { from: 0, to: 99_999_999_999, questions: [] }
const view = { utcOffset: -3600, forReseller: true, omitsEmpty: false }

const textOf = async (pieces: AsyncIterable<string | Uint8Array>) => {
  const parts: string[] = []
  for await (const piece of pieces) parts.push(Buffer.from(piece as Uint8Array).toString())
  return parts.join('')
}

/** Follows the pages to the end. */
const pagesOf = async (
  read: (scope: Scope, reading: Reading) => Promise<LegBatch>,
  scope: Scope,
  { limit, descending }: Pick<Reading, 'limit' | 'descending'>,
  between: () => Promise<void> = async () => {},
) => {
  const found: CdrRow[] = []
  let after: Place | undefined
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

const inOrder = (rows: readonly CdrRow[], descending: boolean) => {
  const sorted = [...rows].sort(byPlace)
  return descending ? sorted.reverse() : sorted
}

const idsOf = (rows: readonly CdrRow[]) => rows.map(({ id }) => id)

describeEngines('Reading call detail records', (engine) => {
  const place = sharedBySuite(
    async () => {
      const opened = await openTestDatabase(engine)
      return { opened, store: createStore(opened.db, systemClock) }
    },
    ({ opened }) => opened.close(),
  )
  const runs = { numRuns: engine === 'sqlite' ? 60 : 25 }

  let accountId: string
  beforeEach(() => {
    accountId = randomHex(16)
  })

  const insert = async (rows: readonly CdrRow[]) => {
    const set = new ChangeSet({ requestId: 'test' })
    for (const [month, members] of Map.groupBy(rows, ({ id }) => Number(id.slice(0, 6))))
      await place.store.cdrs.insert(set, month, members, () => failure('datastore_conflict', {}))
    set.record({ accountId, kind: 'cdr', id: 'x', action: 'created' })
    if (rows.length > 0) await place.store.commit(set)
  }

  // Filters are tried on three records at a time, so that they are tried often.
  const legs = () => createCdrStore(place.store, 3)
  const interactions = () => createInteractionStore(place.store)

  /** A fresh account with these rows, for each run of a property. */
  const stored = async (made: (id: string) => readonly CdrRow[]) => {
    accountId = randomHex(16)
    const rows = made(accountId)
    await insert(rows)
    return rows
  }

  const paging = fc.record({ limit: fc.integer({ min: 1, max: 7 }), descending: fc.boolean() })

  it('joined from pages is the whole list, each record once, in order', () =>
    fc.assert(
      fc.asyncProperty(anyRows, paging, fc.constantFrom(undefined, 'u1'), async (made, how, ownerId) => {
        const rows = await stored(made)
        const wanted = rows.filter((row) => ownerId === undefined || row.owner_id === ownerId)
        const scope = { accountId, ...whole, ...(ownerId ? { ownerId } : {}) }
        const found = await pagesOf(legs().batch, scope, how)
        expect(idsOf(found)).toEqual(idsOf(inOrder(wanted, how.descending)))
      }),
      runs,
    ))

  it('skips and repeats nothing while records arrive', () =>
    fc.assert(
      fc.asyncProperty(anyRows, anyRows, paging, async (made, madeLater, how) => {
        const rows = await stored(made)
        const late = madeLater(accountId).map((row) => ({ ...row, id: `${row.id}-late` }))
        let arrived = 0
        const found = idsOf(
          await pagesOf(legs().batch, { accountId, ...whole }, how, async () => {
            await insert(late.slice(arrived, arrived + 3))
            arrived += 3
          }),
        )
        expect(new Set(found).size).toBe(found.length)
        expect(found.filter((id) => !id.endsWith('-late'))).toEqual(idsOf(inOrder(rows, how.descending)))
      }),
      runs,
    ))

  it('keeps to the range, whatever month a record lies in', () =>
    fc.assert(
      fc.asyncProperty(
        anyRows,
        paging,
        fc.integer({ min: -22, max: 22 }),
        fc.nat(20),
        async (made, how, at, width) => {
          const rows = await stored(made)
          const window = { from: edge + at, to: edge + at + width }
          const wanted = rows.filter(({ created }) => created >= window.from && created <= window.to)
          const found = await pagesOf(legs().batch, { accountId, ...window, questions: [] }, how)
          expect(idsOf(found)).toEqual(idsOf(inOrder(wanted, how.descending)))
        },
      ),
      runs,
    ))

  it('gives each interaction once, by the leg whose channel was first', () =>
    fc.assert(
      fc.asyncProperty(anyRows, paging, async (made, how) => {
        const rows = await stored(made)
        const groups = [...Map.groupBy(rows, (row) => `${row.interaction_time}-${row.interaction_key}`)]
        const firsts = groups
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([, legsOf]) => legsOf.sort(byChannelTime)[0])
        const wanted = how.descending ? firsts.reverse() : firsts
        const found = await pagesOf(interactions().batch, { accountId, ...whole }, how)
        expect(idsOf(found)).toEqual(idsOf(wanted as CdrRow[]))
      }),
      runs,
    ))

  it('writes the lines of CSV as they are written row by row', () =>
    fc.assert(
      fc.asyncProperty(anyRows, paging, async (made, { descending }) => {
        const rows = await stored(made)
        const scope = { accountId, ...whole }
        const lines = await textOf(legs().lines(scope, { after: undefined, descending }, view))
        expect(lines).toBe(
          inOrder(rows, descending)
            .map((row) => csvLineOf(row, view))
            .join(''),
        )
        const ofInteractions = await textOf(
          interactions().lines(scope, { after: undefined, descending }, view),
        )
        const found = await pagesOf(interactions().batch, scope, { limit: 50, descending })
        expect(ofInteractions).toBe(found.map((row) => csvLineOf(row, view)).join(''))
      }),
      runs,
    ))

  const keys = [
    ...columns.map(({ path }) => path),
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
  const question = fc.oneof(
    fc
      .tuple(fc.constantFrom(...forms, ...more), fc.constantFrom(...keys), wanted)
      .map(([form, key, value]) => [form + key, value] as const),
    fc.tuple(
      fc.constantFrom('has_key', 'key_missing', 'has_value', 'value_missing'),
      fc.constantFrom(...keys),
    ),
    fc.tuple(
      fc.constantFrom('modified_from', 'modified_to'),
      fc.constantFrom(String(edge), 'x', '9'.repeat(30)),
    ),
  )

  it('applies filters in the store just as they are applied to documents', () =>
    fc.assert(
      fc.asyncProperty(
        anyRows,
        paging,
        fc.array(question, { minLength: 1, maxLength: 3 }),
        async (made, how, query) => {
          const rows = await stored(made)
          const asked = askedOf(questionsOf(query))
          const judge = filterOf(asked)
          const wantedRows = rows.filter((row) => judge?.(filterableOf(row, { forReseller: true })) ?? true)
          const store = legs()
          const inStore = asked.filter(store.isCondition)
          const left = filterOf(asked.filter((one) => !store.isCondition(one)))
          const scope = { accountId, ...whole, questions: inStore }
          const found = await pagesOf(store.batch, scope, how)
          const kept = found.filter((row) => left?.(filterableOf(row, { forReseller: true })) ?? true)
          expect(idsOf(kept)).toEqual(idsOf(inOrder(wantedRows, how.descending)))
        },
      ),
      { numRuns: runs.numRuns * 5 },
    ))
})

describe('Filters on call ids', () => {
  it('take ids of records for the calls they name', () => {
    const [question] = askedOf(questionsOf([['filter_other_leg_call_id', '202602-abc']]))
    expect(question?.test).toEqual({ is: 'oneOf', texts: new Set(['abc']) })
  })
})
