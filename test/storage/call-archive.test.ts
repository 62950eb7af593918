import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createArchiveRegister } from '../../src/areas/calls/cdrs/archive/store.ts'
import { type CdrRow, cdrColumns } from '../../src/areas/calls/cdrs/columns.ts'
import { createDeletedAccountStore } from '../../src/areas/calls/cdrs/deleted-accounts.sql.ts'
import type { Intake } from '../../src/areas/calls/cdrs/intake/operations.ts'
import { createIntakeStore } from '../../src/areas/calls/cdrs/intake/store.ts'
import { createInteractionStore } from '../../src/areas/calls/cdrs/interactions.sql.ts'
import { recordQueries } from '../../src/areas/calls/cdrs/listing.ts'
import { createCdrMonths } from '../../src/areas/calls/cdrs/months/operations.ts'
import { createCdrMonthStore } from '../../src/areas/calls/cdrs/months/store.ts'
import { monthAt } from '../../src/areas/calls/cdrs/places.rules.ts'
import { createRebuildStore } from '../../src/areas/calls/cdrs/rebuild.sql.ts'
import { cellCareOf } from '../../src/areas/calls/cdrs/rules.ts'
import { createStatsStore } from '../../src/areas/calls/cdrs/stats/store.ts'
import { createCdrStore } from '../../src/areas/calls/cdrs/store.ts'
import { addGroup, createSummaryStore, emptySummary } from '../../src/areas/calls/cdrs/summary.sql.ts'
import { questionsOf } from '../../src/http/response/filters.ts'
import { leaseLost } from '../../src/jobs/leases.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { randomHex } from '../../src/lib/ids.ts'
import { openDirectory, openS3 } from '../../src/object-store/open.ts'
import type { Settings } from '../../src/settings/settings.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { MonthMoved, readingAgain } from '../../src/storage/monthly.ts'
import { createStore } from '../../src/storage/store.ts'
import { createTestLog } from '../support/run/log.ts'
import { countOf, isFullRun } from '../support/run/run-length.ts'
import {
  describeAnyEngine,
  describeEngines,
  openTestDatabase,
  sharedBySuite,
} from '../support/servers/databases.ts'
import { startObjectServer } from '../support/servers/object-server.ts'
import { anyRows, edge, pagesOf, question, textOf, view, whole } from '../support/world/any-legs.ts'
import { archiveAround, insertLegs } from '../support/world/call-archive.ts'
import { someOf } from '../support/world/walk.ts'

describe.each(['directory', 'bucket'] as const)('Call records of which some lie in files of a %s', (kind) =>
  // Differences between engines do not depend on where the files are.
  (kind === 'directory' ? describeEngines : describeAnyEngine)('and others in the store', (engine) => {
    const place = sharedBySuite(
      async () => {
        const opened = await openTestDatabase(engine)
        const store = createStore(opened.db, systemClock)
        const server = kind === 'bucket' ? await startObjectServer() : undefined
        return { opened, store, server, around: archiveAround(store, server && openS3(server.place)) }
      },
      async ({ opened, around, server }) => {
        await around.remove()
        await server?.stop()
        await opened.close()
      },
    )

    const insert = (rows: readonly CdrRow[]) => insertLegs(place.store, rows)

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
            // Neither of those before and behind it.
            const accountId = `8${randomHex(16).slice(1)}`
            const ownLate = late(accountId).map((row) => ({ ...row, id: `${row.id}-late` }))

            const views = async () => {
              const legs = createCdrStore(store, around.reading, 3)
              const interactions = createInteractionStore(store, around.reading)
              const window = { from: edge + at, to: edge + at + width }
              const holder = { accountId, ...(owner ? { ownerId: owner } : {}) }
              const asked = recordQueries(questionsOf(new URLSearchParams(query))).filter(legs.isCondition)
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
            // Accounts before and after it, in the same files.
            for (const first of ['0', 'f']) await insert(late(first + accountId.slice(1)))
            const before = await views()
            await around.archive()
            expect(await views()).toEqual(before)
            // Records that arrive after their month is in files are stored outside the files until the next
            // run.
            await insert(ownLate)
            const withLate = await views()
            await around.archive()
            expect(await views()).toEqual(withLate)
            expect(await store.cdrs.months()).toEqual([])
          },
        ),
        { numRuns: countOf(1, engine === 'sqlite' ? 8 : 4), endOnFailure: true },
      ))
  }),
)

/** Calls of one leg, as many before as behind the edge of a month. */
const plainLegs = (accountId: string, count: number, name = 'leg', secondsApart = 3600) =>
  Array.from({ length: count }, (_, at): CdrRow => {
    const created = edge + (at - count / 2) * secondsApart
    const fields = Object.fromEntries(cdrColumns.map(({ sql }) => [sql, null])) as unknown as CdrRow
    const leg = {
      ...fields,
      account_id: accountId,
      id: `${monthAt(created)}-${name}-${String(at).padStart(3, '0')}`,
      created,
      interaction_time: created,
      interaction_key: String(at),
      owner_id: 'u1',
      call_direction: 'inbound',
      billing_seconds: 1,
      cost: 0,
      reseller_cost: 0,
      rest: null,
    }
    return { ...leg, ...cellCareOf(leg) }
  })

describeEngines('Call records that are archived while they are read', (engine) => {
  const place = sharedBySuite(
    async () => {
      const opened = await openTestDatabase(engine)
      const store = Object.assign(createStore(opened.db, systemClock), { linesAtOnce: 2 })
      return { opened, store, around: archiveAround(store) }
    },
    async ({ opened, around }) => {
      await around.remove()
      await opened.close()
    },
  )

  const storesOf = ({ store, around }: typeof place) => {
    const legs = createCdrStore(store, around.reading, 2)
    return { legs, interactions: createInteractionStore(store, around.reading) }
  }

  /** What is read to the end when `between` happens behind the first part. */
  const interrupted = async <T>(parts: AsyncGenerator<T>, between: () => Promise<unknown>) => {
    const first = await parts.next()
    const found: T[] = first.done ? [] : [first.value]
    await between()
    for await (const part of parts) found.push(part)
    return found
  }

  describe.each(isFullRun ? [true, false] : [true])('and the order is descending: %s', (descending) => {
    const walk = { after: undefined, descending }

    it.each(someOf(1, ['legs', 'interactions'] as const))('are each in the CSV of %s once', async (of) => {
      const accountId = randomHex(16)
      const scope = { accountId, ...whole }
      await insertLegs(place.store, plainLegs(accountId, 40))
      const { lines } = storesOf(place)[of]
      const wanted = await textOf(lines(scope, walk, view))
      const parts = await interrupted(lines(scope, walk, view), place.around.archive)
      expect(Buffer.concat(parts).toString()).toBe(wanted)
    })

    it.each(someOf(1, ['legs', 'interactions'] as const))(
      'are each in the CSV of %s once, also those outside the files of their month',
      async (of) => {
        const accountId = randomHex(16)
        const scope = { accountId, ...whole }
        await insertLegs(place.store, plainLegs(accountId, 40))
        await place.around.archive()
        await insertLegs(place.store, plainLegs(accountId, 40, 'late'))
        const { lines } = storesOf(place)[of]
        const wanted = await textOf(lines(scope, walk, view))
        // A filter that all of them pass: parts are as small as a trial.
        const questions = recordQueries(questionsOf(new URLSearchParams('filter_call_direction=inbound')))
        const asked = of === 'legs' ? { ...scope, questions } : scope
        const parts = await interrupted(lines(asked, walk, view), place.around.archive)
        expect(Buffer.concat(parts).toString()).toBe(wanted)
      },
    )
  })

  it('stay where they are when another process has taken the work over, which is no failure', async () => {
    const { store, around } = place
    await insertLegs(store, plainLegs(randomHex(16), 40))
    const before = await store.cdrs.archivedMonths()
    const months = await store.cdrs.months()
    const lost = {
      sql: 'DELETE FROM scheduled_jobs WHERE name = $1',
      params: ['nobody'],
      expect: { rows: 1, orElse: leaseLost },
    }
    await expect(around.archive(lost)).rejects.toMatchObject({ kind: { name: 'lease_lost' } })
    expect(await store.cdrs.months()).toEqual(months)
    expect(await store.cdrs.archivedMonths()).toEqual(before)
    await around.archive()
    expect(await store.cdrs.months()).not.toEqual(months)
  })

  it('are each counted once', async () => {
    const accountId = randomHex(16)
    await insertLegs(place.store, plainLegs(accountId, 40))
    const { legs } = storesOf(place)
    const summary = createSummaryStore(place.store, legs).groups({ accountId, ...whole })
    const groups = (await interrupted(summary, place.around.archive)).flat()
    expect(groups.reduce((sum, { seconds }) => sum + Number(seconds), 0)).toBe(40)
    await insertLegs(place.store, plainLegs(accountId, 40, 'late'))
    const span = { from: edge - 100 * 3600, end: edge + 100 * 3600, bucket: { seconds: 900 } } as const
    const cells = createStatsStore(place.store, legs).ofOwner(
      { accountId, ownerId: 'u1' },
      'call_direction',
      span,
      0,
    )
    const counted = (await interrupted(cells, place.around.archive)).flat()
    expect(counted.reduce((sum, { calls }) => sum + Number(calls), 0)).toBe(80)
  })

  it('are each among the legs of their interaction once', async () => {
    const accountId = randomHex(16)
    const { store, around } = place
    const [leg] = plainLegs(accountId, 1)
    if (!leg) throw new Error('there is no leg')
    const { id, interaction_time: time, interaction_key: mark } = leg
    const reading = {
      ...around.reading,
      async legsOf(...asked: Parameters<typeof around.reading.legsOf>) {
        await around.archive()
        return around.reading.legsOf(...asked)
      },
    }
    const { legPlaces, legs } = createCdrStore(store, reading)
    await insertLegs(store, [leg])
    const idsIn = (found: readonly { id: string }[]) => found.map((one) => one.id).sort()
    expect(idsIn(await legPlaces(accountId, { time, mark }))).toEqual([id])
    await insertLegs(store, [{ ...leg, id: `${id}-late` }])
    const asked = [id, `${id}-late`, `${id}-none`]
    expect(idsIn(await legs(accountId, { time, mark }, asked))).toEqual([id, `${id}-late`])
  })

  it('are each on a page, whatever moment of its reading it is', async () => {
    const accountId = randomHex(16)
    const { store, around } = place
    const rows = plainLegs(accountId, 6)
    await insertLegs(store, rows)
    const { partsOf } = around.reading
    for (const kind of ['legs', 'interactions'] as const) {
      const reading = { ...around.reading, partsOf }
      reading.partsOf = async (...asked) => {
        const parts = await partsOf(...asked)
        await around.archive()
        return parts
      }
      const late = kind === 'legs' ? [] : plainLegs(accountId, 6, 'late')
      await insertLegs(store, late)
      const { batch } =
        kind === 'legs' ? createCdrStore(store, reading) : createInteractionStore(store, reading)
      const paging = { after: undefined, limit: 50, descending: false, long: false }
      const { items } = await batch({ accountId, ...whole }, paging)
      expect(items.map(({ created }) => created)).toEqual(rows.map(({ created }) => created))
    }
  })
})

describeEngines('A month of call records that others move', (engine) => {
  const [early, late] = [202512, 202601]
  const place = sharedBySuite(
    async () => {
      const opened = await openTestDatabase(engine)
      const store = createStore(opened.db, systemClock)
      return { opened, store, around: archiveAround(store) }
    },
    async ({ opened, around }) => {
      await around.remove()
      await opened.close()
    },
  )

  const monthsWith = (changed: Partial<Pick<typeof place.around, 'register' | 'reading'>>) =>
    createCdrMonths({
      store: place.store,
      settings: {} as Settings,
      intake: {} as Intake,
      register: changed.register ?? place.around.register,
      archive: changed.reading ?? place.around.reading,
      hasArchive: true,
      log: createTestLog().log,
    })

  const author = { requestId: 'test' }

  const drop = async (month: number) => {
    const set = new ChangeSet(author)
    place.store.cdrs.drop(set, month)
    set.record({ accountId: 'x', kind: 'cdrs', id: String(month), action: 'deleted' })
    await place.store.commit(set)
  }

  const drained = async (parts: AsyncIterable<unknown>) => {
    let count = 0
    for await (const _ of parts) count += 1
    return count
  }

  it('is not written out as if it were whole', async () => {
    const { store, around } = place
    await insertLegs(store, plainLegs(randomHex(16), 10))
    const reading = {
      ...around.reading,
      async *month(month: number) {
        yield* around.reading.month(month)
        await around.archive()
      },
    }
    await expect(drained(monthsWith({ reading }).lines(early))).rejects.toMatchObject({
      kind: { name: 'datastore_conflict' },
      details: { message: 'the month was archived or dropped during the read' },
    })
  })

  it('does not end where it was dropped', async () => {
    const { store } = place
    await insertLegs(store, plainLegs(randomHex(16), 4002, 'leg', 1))
    const legs = createCdrMonthStore(store).legs(late)
    expect((await legs.next()).value).toHaveLength(2000)
    await drop(late)
    await expect(drained(legs)).rejects.toThrow(MonthMoved)
    await drop(early)
  })

  it('does not come back when it is dropped while it is archived', async () => {
    const { store } = place
    await place.around.archive()
    await insertLegs(store, plainLegs(randomHex(16), 40))
    const before = await store.cdrs.archivedMonths()
    const objects = openDirectory(place.around.folder)
    const other = archiveAround(store, {
      ...objects,
      async put(path, bytes) {
        await objects.put(path, bytes)
        if ((await store.cdrs.months()).includes(late)) await drop(late)
      },
    })
    await other.archive()
    expect(await store.cdrs.months()).toEqual([])
    expect((await store.cdrs.archivedMonths()).get(late)).toBe(before.get(late))
    other.remove()
  })

  it('leaves no file behind when it is dropped while it is archived', async () => {
    const { store, around } = place
    const accountId = randomHex(16)
    await insertLegs(store, plainLegs(accountId, 40))
    const register = {
      ...around.register,
      async liveOf(month: number) {
        const live = await around.register.liveOf(month)
        if ((await store.cdrs.months()).length > 0) await around.archive()
        return live
      },
    }
    await monthsWith({ register }).drop(author, late)
    expect(await around.register.liveOf(late)).toEqual([])
    const { batch } = createCdrStore(store, around.reading)
    const paging = { after: undefined, limit: 50, descending: false, long: false }
    const { items } = await batch({ accountId, ...whole }, paging)
    expect(items.map(({ id }) => id.slice(0, 6))).toEqual(Array(20).fill(String(early)))
    await around.archive()
    expect(readdirSync(join(around.folder, 'cdrs', String(late)))).toEqual([])
  })

  it('is read on where its files were replaced', async () => {
    const { store, around } = place
    const [accountId, other] = [randomHex(16), randomHex(16)]
    // Both are in each file.
    await insertLegs(store, [...plainLegs(accountId, 12, 'leg', 1), ...plainLegs(other, 12, 'leg', 1)])
    await around.archive()
    const legs = createCdrStore(store, around.reading, 1)
    const questions = recordQueries(questionsOf(new URLSearchParams('filter_call_direction=inbound')))
    const scope = { accountId, ...whole, questions }
    const walk = { after: undefined, descending: false }
    const wanted = await textOf(legs.lines(scope, walk, view))
    const fresh = archiveAround(store, openDirectory(around.folder))
    const lines = createCdrStore(store, fresh.reading, 1).lines(scope, walk, view)
    const found = [(await lines.next()).value]
    const written = monthsWith({ reading: fresh.reading }).lines(late)
    await written.next()
    for (const month of [early, late]) await store.writeUnrecorded(around.register.leave(other, month))
    await around.archive()
    for await (const part of lines) found.push(part)
    expect(Buffer.concat(found as Uint8Array[]).toString()).toBe(wanted)
    await expect(drained(written)).rejects.toMatchObject({ kind: { name: 'datastore_conflict' } })
    await fresh.remove()
  })

  it('is found by a process that does not know of the move yet', async () => {
    const { store, around, opened } = place
    const accountId = randomHex(16)
    const rows = plainLegs(accountId, 12)
    const other = createStore(opened.reopen(), systemClock)
    const [months, rebuild] = [createCdrMonthStore(other), createRebuildStore(other)]
    const files = { ...around.reading, register: createArchiveRegister(other) }
    const intake = createIntakeStore(other, files)
    const departures = createDeletedAccountStore(other, files.register)
    const period = { month: late, from: edge, end: edge + 40 * 86_400, tables: [early, late] }
    const readings: Record<string, () => Promise<unknown>> = {
      count: () => months.count(late),
      stored: () =>
        readingAgain(async () => {
          const set = new ChangeSet({ requestId: 'test' })
          return (await intake.add(set, rows, { looks: true })).stored.size
        }),
      departures: async () => (await departures.next(accountId))?.records,
      nextTime: () => rebuild.nextTime(accountId, 0),
      legCount: () => rebuild.count(accountId, period, period, 5),
      legDays: async () => (await rebuild.legDays(accountId, period, period)).size,
      billed: () => drained(rebuild.billed(accountId, period, period)),
    }
    const found: Record<string, unknown> = {}
    await around.archive()
    for (const [name, read] of Object.entries(readings)) {
      await drop(early)
      await drop(late)
      for (const month of [early, late]) {
        const set = new ChangeSet(author)
        for (const file of await around.register.liveOf(month)) around.register.retire(set, file)
        store.cdrs.forgetArchived(set, month)
        await store.writeUnrecorded(set.statements)
      }
      await insertLegs(store, rows)
      await other.fence()
      expect(await other.cdrs.months()).toEqual([early, late])
      await around.archive()
      found[name] = await read()
    }
    expect(found).toEqual({
      count: 0,
      stored: 12,
      departures: 6,
      nextTime: undefined,
      legCount: 0,
      legDays: 0,
      billed: 0,
    })
  })
})
