// Compares call records of a Kazoo that this importer reads with the same records through
// `crosspoint cdrs import`.
import fc from 'fast-check'
import { beforeEach, expect, it } from 'vitest'
import { learnJoins } from '../../import-kazoo/conversions/call-import.ts'
import { convertCall } from '../../import-kazoo/conversions/call-records.rules.ts'
import { entriesOf } from '../../src/areas/calls/cdrs/intake/ndjson.ts'
import type { Json } from '../../src/lib/json.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { anyCalls, databaseOf, documentOf, importCalls } from '../support/kazoo/kazoo-calls.ts'
import { countOf } from '../support/run/run-length.ts'
import { describeAnyEngine, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

// 2026-01-01T00:00:00Z: calls lie close to the edge of a month.
const edge = 63_934_444_800
const day = 86_400
const unixMicro = (gregorian: number) => (gregorian - 62_167_219_200) * 1_000_000

describeAnyEngine('Call records of Kazoo', (engine) => {
  const world = useWorld(engine)
  let account: TestAccount
  let admin: Person

  beforeEach(async () => {
    account = await world.account()
    admin = await world.admin(account)
  })

  const place = () => ({
    store: world.server.store,
    legAdoption: world.server.areas.cdrs.legAdoption,
  })

  const month = 202601
  const documentsOf = (fields: readonly Json[], { id } = account) =>
    fields.map((one) => documentOf(one, databaseOf(id, month)))

  const bring = (fields: readonly Json[], more: Partial<Parameters<typeof importCalls>[1]> = {}) =>
    importCalls(place(), {
      accountId: account.id,
      database: databaseOf(account.id, month),
      documents: documentsOf(fields),
      ...more,
    })

  const call = (callId: string, timestamp: number, more: Json = {}): Json => ({
    _id: `${month}-${callId}`,
    pvt_type: 'cdr',
    pvt_vsn: '2',
    call_id: callId,
    call_direction: 'inbound',
    timestamp,
    duration_seconds: 30,
    billing_seconds: 20,
    ...more,
  })

  const range = { created_from: edge - 15 * day, created_to: edge + 3 * day }
  const listed = async (path = 'cdrs') =>
    (await admin.get(`${account.path}/${path}`, { query: range })).data as Json[]
  const read = (id: string) => admin.get(`${account.path}/cdrs/${encodeURIComponent(id)}`)

  it('with one interaction are two legs of one', async () => {
    const interaction = {
      interaction_id: `${edge + 70}-5ab1c09d`,
      interaction_time: edge + 70,
      interaction_key: '5ab1c09d',
    }
    const told = await bring([
      call('a', edge + 100, { ...interaction, other_leg_call_id: 'b' }),
      call('b', edge + 101, { ...interaction, call_direction: 'outbound' }),
    ])
    expect(told).toEqual({
      counts: { imported: 2, duplicates: 0, skipped: 0, aside: 0 },
      codes: {},
      findings: [],
      aside: [],
      marks: ['1'],
    })
    expect((await listed('cdrs/interaction')).map(({ id }) => id)).toEqual([`${month}-a`])
    const legs = await admin.get(`${account.path}/cdrs/legs/${interaction.interaction_id}`)
    expect((legs.data as Json[]).map(({ id }) => id).sort()).toEqual([`${month}-a`, `${month}-b`])
  })

  it('of version 5 with an odd time are found when their channel says', async () => {
    const channel = { channel_created_time: unixMicro(edge + 500), pvt_vsn: '3' }
    await bring([call('a', edge + 9000, channel)])
    expect(await read(`${month}-a`)).toSucceedWith({
      id: `${month}-a`,
      call_id: 'a',
      call_direction: 'inbound',
      timestamp: edge + 530,
      duration_seconds: 30,
      billing_seconds: 20,
      channel_created_time: unixMicro(edge + 500),
      interaction_id: `${edge + 500}-ca978112`,
      interaction_time: edge + 500,
      interaction_key: 'ca978112',
      custom_channel_vars: { account_id: account.id },
    })
  })

  it('of the oldest form are separate interactions, with whole numbers', async () => {
    await bring([
      call('old', edge + 100, { duration_seconds: '30', billing_seconds: '', pvt_vsn: undefined }),
    ])
    const [row] = await listed('cdrs/interaction')
    expect(row).toMatchObject({ id: `${month}-old`, duration_seconds: 30, billing_seconds: '' })
  })

  it('without interactions are one where they name each other, whichever comes first and wherever pages end', async () => {
    const legs = [
      call('z', edge + 100, { duration_seconds: 50 }),
      call('y', edge + 101, { other_leg_call_id: 'z' }),
      call('x', edge + 102, { custom_channel_vars: { bridge_id: 'z' } }),
      call('lone', edge + 100),
    ]
    for (const [at, some] of [legs, legs.toReversed()].entries()) {
      account = await world.account()
      admin = await world.admin(account)
      const { codes } = await bring(some, { pageSize: 1, documentsAtOnce: at + 1 })
      expect(codes).toEqual({ call_record_joined: 2 })
      const found = await listed()
      expect(new Set(found.map(({ interaction_id }) => interaction_id)).size).toBe(2)
      expect((await read(`${month}-x`)).data.interaction_time).toBe(edge + 50)
    }
  })

  it('join the interaction of newer ones that they belong to', async () => {
    await bring(
      [
        call('old', edge + 100, { duration_seconds: 5 }),
        call('new', edge + 101, { other_leg_call_id: 'old', interaction_id: `${edge + 3}-abc` }),
      ],
      { pageSize: 1, documentsAtOnce: 1 },
    )
    expect((await read(`${month}-old`)).data.interaction_id).toBe(`${edge + 3}-abc`)
  })

  it('that hung up in the next month lie in the month of their interaction', async () => {
    const { findings } = await bring([call('late', edge + 5, { interaction_id: `${edge - 20}-abc` })])
    expect(findings).toMatchObject([{ code: 'call_record_moved', count: 1, shown: [{ new: '202512-late' }] }])
    expect(await read('202512-late')).toSucceed()
    expect(await read(`${month}-late`)).toFailWith(404, 'bad_identifier')
  })

  it.each(['a/b@10.1.2.3:5060', 'call ☎️ é', '%2F'])(
    'with a call id like %s are found by it',
    async (callId) => {
      await bring([call(callId, edge + 100)])
      expect((await read(`${month}-${callId}`)).data.call_id).toBe(callId)
    },
  )

  it('of another account in their variables belong to the account of the database', async () => {
    const { codes } = await bring([
      call('a', edge + 100, { custom_channel_vars: { account_id: world.rival.id } }),
    ])
    expect(codes).toEqual({ call_record_of_other_account: 1 })
    expect((await read(`${month}-a`)).data.custom_channel_vars).toEqual({ account_id: account.id })
  })

  it('that were paid by the minute keep their cost and are not charged', async () => {
    const balance = async () => (await admin.get(`${account.path}/ledgers`)).data
    const before = await balance()
    const custom_channel_vars = {
      account_billing: 'per_minute',
      rate: 120,
      rate_minimum: 60,
      rate_increment: 60,
    }
    await bring([call('a', edge + 100, { custom_channel_vars })])
    expect((await listed())[0]).toMatchObject({ cost: '120' })
    expect(await balance()).toEqual(before)
  })

  it('are left out where the settings of cdr keep them out', async () => {
    const told = await bring([
      call('a', edge + 100, { custom_channel_vars: { application_name: 'milliwatt' } }),
      call('b', edge + 100, { pvt_deleted: true }),
    ])
    expect(told.counts).toEqual({ imported: 0, duplicates: 0, skipped: 2, aside: 0 })
    expect(told.codes).toEqual({ call_record_ignored: 1 })
    expect(await listed()).toEqual([])
  })

  it('that are invalid are reported and set aside, and the others are imported', async () => {
    const told = await bring([
      call('key', edge + 100, { interaction_id: `${edge}-no good` }),
      call('far', edge + 100, { interaction_id: `${edge - 40 * day}-abc` }),
      call('early', 1_000_000),
      call('future', edge + 400 * day),
      { ...call('', edge), _id: 'nameless' },
      call('good', edge + 100),
      { _id: `${month}-ledger`, pvt_type: 'ledger' },
    ])
    expect(told.counts).toEqual({ imported: 1, duplicates: 0, skipped: 0, aside: 5 })
    expect(told.aside.sort()).toEqual(
      ['nameless', ...['early', 'far', 'future', 'key'].map((id) => `${month}-${id}`)].sort(),
    )
    expect(told.codes).toMatchObject({ call_record_refused: 5 })
    expect(await listed()).toMatchObject([{ id: `${month}-good` }])
  })

  it('put twice are there once, and the second time changes nothing', async () => {
    const calls = Array.from({ length: 10 }, (_, at) => call(`c-${at}`, edge + at))
    expect((await bring(calls, { documentsAtOnce: 4 })).counts).toMatchObject({ imported: 10, duplicates: 0 })
    const again = await world.unchanged(() => bring(calls, { documentsAtOnce: 4 }))
    expect(again.counts).toEqual({ imported: 0, duplicates: 10, skipped: 0, aside: 0 })
    const more = await bring([...calls, call('new', edge + 20), call('new', edge + 21)], {
      documentsAtOnce: 100,
    })
    expect(more.counts).toEqual({ imported: 1, duplicates: 11, skipped: 0, aside: 0 })
    expect(await listed()).toHaveLength(11)
  })

  it('are committed in batches, each with its mark, and an import continues from the last mark', async () => {
    const calls = Array.from({ length: 9 }, (_, at) =>
      call(`c-${at}`, edge + at, { other_leg_call_id: 'c-0' }),
    )
    let mark: string | undefined
    const commit = async (set: ChangeSet, reached: string | undefined) => {
      if (mark === '2') throw new Error('killed')
      await world.server.store.adopt(set)
      mark = reached
    }
    await expect(bring(calls, { pageSize: 2, documentsAtOnce: 2, commit })).rejects.toThrow('killed')
    expect(mark).toBe('2')
    expect(await listed()).toHaveLength(4)
    const rest = await bring(calls, { pageSize: 2, documentsAtOnce: 2, after: '2' })
    expect(rest.counts).toMatchObject({ imported: 5, duplicates: 0 })
    const interactions = new Set((await listed()).map(({ interaction_id }) => interaction_id))
    expect(interactions.size).toBe(1)
  })

  it('are one entry of the audit a batch, and no event', async () => {
    const { store } = world.server
    const entries = () =>
      store.all("SELECT event, after_doc FROM audit_log WHERE account_id = $1 AND kind IN ('cdrs', 'cdr')", [
        account.id,
      ])
    await bring([call('a', edge + 100), call('b', edge + 101), call('c', edge + 102)], {
      pageSize: 2,
      documentsAtOnce: 2,
    })
    expect(await entries()).toEqual([
      {
        event: 'cdrs.created',
        after_doc: JSON.stringify({ records: 2, first: `${month}-a`, last: `${month}-b` }),
      },
      {
        event: 'cdrs.created',
        after_doc: JSON.stringify({ records: 1, first: `${month}-c`, last: `${month}-c` }),
      },
    ])
  })

  it('are not stored when their commit fails because one of them was stored in between', async () => {
    const { store, legAdoption } = place()
    const judge = await legAdoption.judging()
    const rows = documentsOf([call('a', edge + 100), call('b', edge + 100)]).flatMap((document) => {
      const result = convertCall(document, { accountId: account.id })
      const judged = result.outcome === 'leg' ? judge(result.leg) : undefined
      return typeof judged === 'object' && 'row' in judged ? [judged.row] : []
    })
    const sets = [new ChangeSet({ requestId: 'one' }), new ChangeSet({ requestId: 'two' })] as const
    expect(await legAdoption.add(sets[0], rows.slice(1), { looksFirst: false })).toEqual(['accepted'])
    expect(await legAdoption.add(sets[1], rows, { looksFirst: false })).toEqual(['accepted', 'accepted'])
    await store.adopt(sets[0])
    await expect(store.adopt(sets[1])).rejects.toMatchObject({ kind: { name: 'datastore_conflict' } })
    expect(await listed()).toMatchObject([{ id: `${month}-b` }])
    const looking = new ChangeSet({ requestId: 'three' })
    expect(await legAdoption.add(looking, rows, { looksFirst: true })).toEqual(['accepted', 'duplicate'])
    await store.adopt(looking)
    expect(await listed()).toHaveLength(2)
  })

  /** Everything that readers see of the calls of an account, with the ids of account and user made equal. */
  const seen = async (of: TestAccount, ids: readonly string[]) => {
    const by = await world.admin(of)
    const get = async (path: string, query: Record<string, string | number> = range) =>
      (await by.get(`${of.path}/${path}`, { query })).data
    const csv = async (path: string) =>
      (await by.get(`${of.path}/${path}`, { query: { ...range, accept: 'text/csv', paginate: 'false' } }))
        .text
    const legs = (await get('cdrs', { ...range, page_size: 500 })) as { interaction_id: string }[]
    const interactions = [...new Set(legs.map(({ interaction_id }) => interaction_id))].sort()
    const text = JSON.stringify({
      legs,
      interactions: await get('cdrs/interaction', { ...range, page_size: 500 }),
      ofUser: await get('cdrs', { ...range, page_size: 500, filter_owner_id: 'u1' }),
      csv: [await csv('cdrs'), await csv('cdrs/interaction')],
      hours: await get('cdrs/stats', { created_from: edge - day, created_to: edge + day, interval: 'hour' }),
      owners: await get('cdrs/stats', {
        created_from: edge - day,
        created_to: edge + day,
        interval: 'day',
        group_by: 'owner_id',
      }),
      months: await get('cdrs/stats', { ...range, interval: 'month', group_by: 'hangup_cause' }),
      summary: await get('cdrs/summary'),
      byId: await Promise.all(ids.map((id) => get(`cdrs/${encodeURIComponent(id)}`, {}))),
      together: await Promise.all(interactions.map((id) => get(`cdrs/legs/${id}`, {}))),
    })
    const sums = await world.server.store.all(
      `SELECT dimension, seconds, group_value, start, calls, answered, duration_seconds, billing_seconds, cost
        FROM cdr_tallies WHERE account_id = $1 ORDER BY dimension, seconds, group_value, start`,
      [of.id],
    )
    return { text: text.replaceAll(of.id, 'the account'), sums }
  }

  async function* linesOf(records: readonly Json[]) {
    yield Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  }

  it('are what `crosspoint cdrs import --paid-elsewhere` makes of the same records', async () => {
    const { intake } = world.server.areas.cdrs
    await fc.assert(
      fc.asyncProperty(anyCalls(edge, 15), fc.integer({ min: 1, max: 6 }), async (calls, documentsAtOnce) => {
        const [ours, theirs] = [await world.account(), await world.account()]
        const told = await importCalls(place(), {
          accountId: ours.id,
          database: databaseOf(ours.id, month),
          documents: documentsOf(calls, ours),
          pageSize: 2,
          documentsAtOnce,
        })
        // The stored records determine the result, including the interactions that they share.
        const joins = await learnJoins(async function* () {
          yield { documents: documentsOf(calls, theirs), mark: '' }
        })
        const converted = documentsOf(calls, theirs).map((document) =>
          convertCall(document, { accountId: theirs.id, joins }),
        )
        const legs = converted.flatMap((one) => (one.outcome === 'leg' ? [one] : []))
        const report = await intake.take(
          { requestId: 'test' },
          entriesOf(linesOf(legs.map(({ leg }) => leg.record as Json))),
          { paid: 'elsewhere' },
        )
        expect(report).toMatchObject({ accepted: told.counts.imported, duplicates: told.counts.duplicates })
        expect(report.rejected_total + converted.length - legs.length).toBe(told.counts.aside)
        const ids = legs.map(({ id }) => id)
        expect(await seen(ours, ids)).toEqual(await seen(theirs, ids))
      }),
      { numRuns: countOf(6, engine === 'sqlite' ? 20 : 10) },
    )
  })
})
