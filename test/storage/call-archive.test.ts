import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CdrRow } from '../../src/areas/cdrs/columns.ts'
import { askedOf } from '../../src/areas/cdrs/filters/rules.ts'
import { createInteractionStore } from '../../src/areas/cdrs/interactions/store.ts'
import { createStatsStore } from '../../src/areas/cdrs/stats/store.ts'
import { createCdrStore } from '../../src/areas/cdrs/store.ts'
import { addGroup, emptySummary } from '../../src/areas/cdrs/summary/rules.ts'
import { createSummaryStore } from '../../src/areas/cdrs/summary/store.ts'
import { questionsOf } from '../../src/http/answer/filters.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { failure } from '../../src/lib/failure.ts'
import { randomHex } from '../../src/lib/ids.ts'
import { openS3 } from '../../src/object-store/s3.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { createStore } from '../../src/storage/store.ts'
import { anyRows, edge, pagesOf, question, textOf, view, whole } from '../support/any-legs.ts'
import { archiveAround } from '../support/call-archive.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/databases.ts'
import { startObjectServer } from '../support/object-server.ts'

describe.each(['directory', 'bucket'] as const)('Call records of which some lie in files of a %s', (kind) =>
  describeEngines('and others in the store', (engine) => {
    const place = sharedBySuite(
      async () => {
        const opened = await openTestDatabase(engine)
        const store = createStore(opened.db, systemClock)
        const server = kind === 'bucket' ? await startObjectServer() : undefined
        return { opened, store, server, around: archiveAround(store, server && openS3(server.place)) }
      },
      async ({ opened, around, server }) => {
        around.remove()
        await server?.stop()
        await opened.close()
      },
    )

    const insert = async (rows: readonly CdrRow[]) => {
      const set = new ChangeSet({ requestId: 'test' })
      for (const [month, members] of Map.groupBy(rows, ({ id }) => Number(id.slice(0, 6))))
        await place.store.cdrs.insert(set, month, members, () => failure('datastore_conflict', {}))
      set.record({ accountId: rows[0]?.account_id ?? '', kind: 'cdrs', id: 'x', action: 'created' })
      if (rows.length > 0) await place.store.commit(set)
    }

    const how = fc.record({
      limit: fc.integer({ min: 1, max: 7 }),
      descending: fc.boolean(),
      owner: fc.constantFrom(undefined, 'u1'),
      at: fc.integer({ min: -22, max: 22 }),
      width: fc.constantFrom(5, 20, 100),
    })

    const given = fc.record({
      early: anyRows,
      late: anyRows,
      how,
      query: fc.array(question, { maxLength: 2 }),
    })

    it('are listed, counted and written down as if all of them lay in the store', () =>
      fc.assert(
        fc.asyncProperty(
          given,
          async ({ early, late, how: { limit, descending, owner, at, width }, query }) => {
            const { store, around } = place
            const accountId = randomHex(16)
            const ownLate = late(accountId).map((row) => ({ ...row, id: `${row.id}-late` }))

            const views = async () => {
              const legs = createCdrStore(store, around.reading, 3)
              const interactions = createInteractionStore(store, around.reading)
              const window = { from: edge + at, to: edge + at + width }
              const holder = { accountId, ...(owner ? { ownerId: owner } : {}) }
              const asked = askedOf(questionsOf(query)).filter(legs.isCondition)
              const paging = { limit, descending }
              const walk = { after: undefined, descending }
              const scopes = [whole, { ...whole, ...window }].map((one) => ({ ...one, ...holder }))
              const found: unknown[] = []
              for (const scope of scopes) {
                found.push(await pagesOf(legs.batch, scope, paging))
                found.push(await pagesOf(legs.batch, { ...scope, questions: asked }, paging))
                found.push(await pagesOf(interactions.batch, scope, paging))
                found.push(await textOf(legs.lines({ ...scope, questions: asked }, walk, view)))
                found.push(await textOf(interactions.lines(scope, walk, view)))
                const summary = emptySummary()
                for await (const groups of createSummaryStore(store, legs).groups(scope))
                  for (const group of groups) addGroup(summary, group)
                found.push(summary)
              }
              const all = await pagesOf(legs.batch, { accountId, ...whole }, { limit: 50, descending: false })
              for (const { id, interaction_time: time, interaction_key: mark } of all.slice(0, 3)) {
                found.push(await legs.find(accountId, id))
                const places = await legs.legPlaces(accountId, { time, mark })
                const ids = places.map((leg) => leg.id).sort()
                const ofInteraction = await legs.legs(accountId, { time, mark }, ids)
                found.push(
                  ids,
                  ofInteraction.sort((a, b) => (a.id < b.id ? -1 : 1)),
                )
              }
              const sums = new Map<string, number>()
              const span = { from: edge - 30, end: edge + 30, bucket: { seconds: 900 } } as const
              const cells = createStatsStore(store, legs).ofOwner(
                { accountId, ownerId: 'u1' },
                'call_direction',
                span,
                -3600,
              )
              for await (const some of cells)
                for (const { start, group_value, ...numbers } of some)
                  for (const [name, value] of Object.entries(numbers)) {
                    const key = `${start} ${group_value} ${name}`
                    sums.set(key, (sums.get(key) ?? 0) + value)
                  }
              found.push([...sums].sort())
              found.push(await legs.find(accountId, '202601-nobody'))
              return found
            }

            await insert(early(accountId))
            // Of accounts before and behind it, in the same files.
            for (const first of ['0', 'f']) await insert(late(first + accountId.slice(1)))
            const before = await views()
            await around.archive()
            expect(await views()).toEqual(before)
            // Records of a month that lies in files stay beside it, and follow it when it is their turn.
            await insert(ownLate)
            const withLate = await views()
            await around.archive()
            expect(await views()).toEqual(withLate)
            expect(await store.cdrs.months()).toEqual([])
          },
        ),
        { numRuns: engine === 'sqlite' ? 8 : 4, endOnFailure: true },
      ))
  }),
)
