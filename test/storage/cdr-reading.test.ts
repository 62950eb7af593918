import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import type { CdrRow } from '../../src/areas/calls/cdrs/columns.ts'
import { createInteractionStore } from '../../src/areas/calls/cdrs/interactions.sql.ts'
import { recordQueries } from '../../src/areas/calls/cdrs/listing.ts'
import { byChannelTime, csvLineOf, filterableOf } from '../../src/areas/calls/cdrs/rules.ts'
import { createCdrStore } from '../../src/areas/calls/cdrs/store.ts'
import { filterOf, questionsOf } from '../../src/http/response/filters.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { randomHex } from '../../src/lib/ids.ts'
import { ChangeSet, conflict } from '../../src/storage/change-set.ts'
import { createStore } from '../../src/storage/store.ts'
import { countOf } from '../support/run/run-length.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/servers/databases.ts'
import {
  anyRows,
  edge,
  idsOf,
  inOrder,
  pagesOf,
  question,
  textOf,
  view,
  whole,
} from '../support/world/any-legs.ts'

describeEngines('Reading call detail records', (engine) => {
  const place = sharedBySuite(
    async () => {
      const opened = await openTestDatabase(engine)
      return { opened, store: createStore(opened.db, systemClock) }
    },
    ({ opened }) => opened.close(),
  )
  const runs = { numRuns: countOf(15, engine === 'sqlite' ? 60 : 25) }

  let accountId: string
  beforeEach(() => {
    accountId = randomHex(16)
  })

  const insert = async (rows: readonly CdrRow[]) => {
    const set = new ChangeSet({ requestId: 'test' })
    for (const [month, members] of Map.groupBy(rows, ({ id }) => Number(id.slice(0, 6))))
      await place.store.cdrs.insert(set, month, members, { isArchived: false, orElse: conflict })
    set.record({ accountId, kind: 'cdr', id: 'x', action: 'created' })
    if (rows.length > 0) await place.store.commit(set)
  }

  // Filters are tried on three records at a time, so that they are tried often.
  const legs = () => createCdrStore(place.store, undefined, 3)
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

  it('keeps to the range, whatever month a record is in', () =>
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

  it('applies filters in the store just as they are applied to documents', () =>
    fc.assert(
      fc.asyncProperty(
        anyRows,
        paging,
        fc.array(question, { minLength: 1, maxLength: 3 }),
        async (made, how, query) => {
          const rows = await stored(made)
          const asked = recordQueries(questionsOf(new URLSearchParams(query)))
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
    const [question] = recordQueries(questionsOf(new URLSearchParams('filter_other_leg_call_id=202602-abc')))
    expect(question?.test).toEqual({ is: 'oneOf', texts: new Set(['abc']) })
  })
})
