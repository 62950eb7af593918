import { existsSync, readdirSync, renameSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { eventJson, sequenceText } from '../../src/events/events.ts'
import type { Json } from '../../src/lib/json.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { figureOf } from '../support/matchers/figures.ts'
import { eventually } from '../support/run/eventually.ts'
import type { Engine } from '../support/servers/databases.ts'
import { openEventStream } from '../support/servers/event-stream.ts'
import type { Answer } from '../support/world/client.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { storedRows } from '../support/world/stored-cdrs.ts'
import { describeAnyEngine, type TestAccount, useWorld, type World } from '../support/world/world.ts'

const job = 'cdr-archive'
const month = 31 * 86_400

/** The status and text of a response, without the parts that differ in every response. */
const saysOf = ({ status, text }: Answer) => ({
  status,
  text: text.replace(/"(?:request_id|timestamp)":"[^"]*"/g, ''),
})

/** A world that keeps call records of more than a month in files. */
const useArchive = (engine: Engine) => {
  let path = ''
  const world: World = useWorld(
    engine,
    async (built) => {
      await built.configure('cdr', { archive_after_months: 1 })
      await built.configure('crossbar.cdrs', { maximum_range: 12 * month })
    },
    async () => {
      path = await mkdtemp(join(tmpdir(), 'call-archive-'))
      return { callArchive: { kind: 'directory', path } }
    },
  )
  afterAll(() => rm(path, { recursive: true, force: true }))
  return {
    world,
    /** The folder, which exists from the first test of the suite. */
    path: () => path,
    runNow: () => world.server.scheduler.runNow(job),
    filesOf: () =>
      readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.parquet')),
  }
}

describeAnyEngine('Call records in files', (engine) => {
  const { world, path, runNow, filesOf } = useArchive(engine)

  /** Calls of three months, some of them of a user, of several legs each. */
  const calls = async (account: TestAccount, owner: string, count: number) => {
    const legs: Json[] = []
    for (let at = 0; at < count; at += 1) {
      const time = nowOf(world) - Math.floor((at * 3 * month) / count)
      const interaction = { interaction_time: time - 60, interaction_key: `k${at}` }
      const more = { ...interaction, from: 'a@one.example', to: `+1415555${1000 + at}@two.example` }
      legs.push(legOf(account, time, { ...more, hangup_cause: at % 3 ? 'NORMAL_CLEARING' : 'USER_BUSY' }))
      legs.push(
        legOf(account, time + 1, {
          ...more,
          call_direction: 'outbound',
          billing_seconds: at,
          custom_channel_vars: { resource_id: 'r1', ...(at % 2 ? { owner_id: owner } : {}) },
        }),
      )
    }
    await sendLegs(world, legs)
  }

  const listsOf = (account: TestAccount, owner: string): [path: string, query: Record<string, string>][] => {
    const range = { created_from: String(nowOf(world) - 3 * month), created_to: String(nowOf(world)) }
    const base = `${account.path}/cdrs`
    const ofUser = `${account.path}/users/${owner}/cdrs`
    const lists = [base, `${base}/interaction`, ofUser, `${ofUser}/interaction`]
    const filters: Record<string, string>[] = [
      {},
      { filter_hangup_cause: 'USER_BUSY' },
      { 'filter_custom_channel_vars.owner_id': owner },
      { has_key: 'billing_seconds' },
    ]
    return lists.flatMap((list) =>
      filters.flatMap((filter) =>
        ['true', 'false'].map((descending): [string, Record<string, string>] => [
          list,
          { ...range, ...filter, descending, page_size: '7' },
        ]),
      ),
    )
  }

  const pagesOf = async (reader: World['ada'], list: string, query: Record<string, string>) => {
    const pages: unknown[] = []
    let key: string | undefined
    do {
      const answer = await reader.get(list, { query: key ? { ...query, start_key: key } : query })
      pages.push(saysOf(answer))
      key = answer.body.next_start_key
    } while (key !== undefined)
    return pages
  }

  const everything = async (reader: World['ada'], account: TestAccount, owner: string) => {
    const found: unknown[] = []
    for (const [list, query] of listsOf(account, owner)) {
      found.push([list, query, await pagesOf(reader, list, query)])
      const csv = await reader.get(list, { query, headers: { accept: 'text/csv' } })
      found.push(csv.status, csv.text)
    }
    const base = `${account.path}/cdrs`
    const query = { created_from: String(nowOf(world) - 3 * month), created_to: String(nowOf(world)) }
    found.push(saysOf(await reader.get(`${base}/summary`, { query })))
    const stats = { ...query, interval: 'month', group_by: 'hangup_cause' }
    found.push(saysOf(await reader.get(`${account.path}/users/${owner}/cdrs/stats`, { query: stats })))
    const all = await reader.get(base, { query: { ...query, page_size: '10000' } })
    for (const { id, interaction_id: interaction } of all.data) {
      found.push(saysOf(await reader.get(`${base}/${id}`)))
      found.push(saysOf(await reader.get(`${base}/legs/${interaction}`)))
    }
    return found
  }

  it('are read as if they were in the store, which keeps only the configured months', async () => {
    const account = await world.account()
    const reader = await world.admin(account)
    const owner = await world.user(account)
    await calls(account, owner.id, 40)
    const before = await everything(reader, account, owner.id)
    const files = filesOf()
    await runNow()
    const months = await world.server.store.cdrs.months()
    // The one to come has its table already, or gets it soon.
    expect(months.filter((one) => one !== 202602)).toEqual([202512, 202601])
    expect(filesOf()).toHaveLength(files.length + 2)
    expect(await everything(reader, account, owner.id)).toEqual(before)
  })

  it('take no record a second time, and those that come late are read with them', async () => {
    const account = await world.account()
    const reader = await world.admin(account)
    const legs = [0, 1, 2].map((at) => legOf(account, nowOf(world) - 2 * month + at))
    await sendLegs(world, legs)
    const read = async () => {
      const query = { created_from: String(nowOf(world) - 3 * month), ascending: 'true' }
      const { data } = await reader.get(`${account.path}/cdrs`, { query })
      return data.map(({ call_id: id }: Json) => id)
    }
    await runNow()
    const again = await world.operator.put('/v2/cdrs', legs)
    expect(again.data).toMatchObject({ accepted: 0, duplicates: 3 })
    const late = legOf(account, nowOf(world) - 2 * month + 1)
    await sendLegs(world, [late])
    const order = [legs[0], legs[1], late, legs[2]].map((leg) => leg?.call_id)
    expect(await read()).toEqual(order)
    await runNow()
    expect(await world.server.store.cdrs.months()).not.toContain(202511)
    expect(await read()).toEqual(order)
    const { data } = await reader.get(`${account.path}/cdrs/stats`, {
      query: { created_from: String(nowOf(world) - 3 * month), interval: 'month' },
    })
    expect(data.reduce((sum: number, { calls: some }: Json) => sum + Number(some), 0)).toBe(4)
  })

  it('take no record a second time when their month is archived at that moment', async () => {
    const account = await world.account()
    const reader = await world.admin(account)
    const legs = [0, 1].map((at) => legOf(account, nowOf(world) - 2 * month + at))
    await sendLegs(world, legs)
    const { cdrs } = world.server.store
    const { insert } = cdrs
    cdrs.insert = async (...given) => {
      cdrs.insert = insert
      await runNow()
      return insert(...given)
    }
    const again = await world.operator.put('/v2/cdrs', legs)
    expect(again.data).toMatchObject({ accepted: 0, duplicates: 2 })
    const query = { created_from: String(nowOf(world) - 3 * month) }
    const { data } = await reader.get(`${account.path}/cdrs`, { query })
    expect(data).toHaveLength(2)
  })

  it('that cannot be read now return 503, and other requests still work', async () => {
    const account = await world.account()
    const reader = await world.admin(account)
    const other = await world.account()
    const otherReader = await world.admin(other)
    const old = legOf(account, nowOf(world) - 2 * month)
    await sendLegs(world, [old, legOf(account, nowOf(world) - 5), legOf(other, nowOf(world) - 5)])
    await runNow()
    const lists = `${account.path}/cdrs`
    const wide = { created_from: String(nowOf(world) - 3 * month) }
    renameSync(path(), `${path()}-away`)
    try {
      const answer = await world.unchanged(() => reader.get(lists, { query: wide }))
      expect(answer).toFailWith(503, 'call_archive_unreachable', {
        message: 'the archive of older call records cannot be read now',
      })
      expect(answer.headers['retry-after']).toBe('30')
      const today = { created_from: String(nowOf(world) - 100) }
      expect((await reader.get(lists, { query: today })).data).toHaveLength(1)
      expect((await otherReader.get(`${other.path}/cdrs`, { query: wide })).data).toHaveLength(1)
      const sent = await world.unchanged(() => world.operator.put('/v2/cdrs', [old]))
      expect(sent).toFailWith(503, 'call_archive_unreachable')
      expect((await world.anonymous.get('/readyz')).status).toBe(200)
    } finally {
      renameSync(`${path()}-away`, path())
    }
    expect((await reader.get(lists, { query: wide })).data).toHaveLength(2)
  })

  it('whose file cannot be read are reported as events without content, and delay no other event', async () => {
    const account = await world.account()
    const reader = await world.admin(account)
    const before = (await world.server.feed.all(0, 100_000)).at(-1)?.sequence ?? 0
    const legs = [0, 1].map((at) => legOf(account, nowOf(world) - 2 * month + at))
    await sendLegs(world, legs)
    const device = await world.device(account)
    await runNow()
    const types = ['cdr.created', 'device.created']
    const readers: Record<string, () => Promise<Json[]>> = {
      everybody: async () => {
        const events = await eventually(
          () => world.server.feed.all(before, 1000),
          (all) => all.some(({ recordId }) => recordId === device.id),
        )
        return events.filter(({ type }) => types.includes(type)).map((event) => eventJson(event))
      },
      page: async () =>
        (await reader.get(`${account.path}/events`, { query: { type: types.join(',') } })).data,
      stream: async () => {
        const events = `${account.path}/events?type=${types.join(',')}&after=${sequenceText(before)}`
        const stream = await openEventStream(world.server.port, events, { 'x-auth-token': reader.token })
        const messages = await stream.come(3).finally(stream.close)
        return messages.map(({ data }) => JSON.parse(data))
      },
    }
    const untold = async () => {
      const { text } = await world.anonymous.get('/metrics')
      return figureOf(text, 'crosspoint_call_archive_records_missing_total', {}) ?? 0
    }
    const each = async () => {
      const found: Record<string, Json[]> = {}
      for (const [name, read] of Object.entries(readers)) found[name] = await read()
      return found
    }
    // Each read counts the records that it could not read, so the test reads only after the last event has its
    // sequence number.
    await eventually(
      () => world.server.store.all('SELECT id FROM audit_log WHERE sequence IS NULL LIMIT 1'),
      ({ length }) => length === 0,
    )
    const counted = await untold()
    renameSync(path(), `${path()}-away`)
    const bare = await each().finally(() => renameSync(`${path()}-away`, path()))
    expect(await untold()).toBe(counted + 6)
    const { page = [], ...whole } = await each()
    expect(page).toMatchObject([
      ...legs.map(({ call_id }) => ({ type: 'cdr.created', after: { call_id } })),
      { type: 'device.created', record: { id: device.id } },
    ])
    expect(whole).toEqual({ everybody: page, stream: page })
    const without = page.map(({ after, ...event }) =>
      event.type === 'cdr.created' ? event : { ...event, after },
    )
    expect(bare).toEqual({ everybody: without, page: without, stream: without })
    const told = world.logEntries.filter(
      ({ message }) => message === 'events are sent without their call records',
    )
    const records = legs.map(({ call_id }) => `202511-${call_id}`)
    const line = { level: 'warn', fields: { account_id: account.id, records } }
    expect(told).toMatchObject([line, line, line])
  })

  it('are not lost by a month that cannot be archived now', async () => {
    const account = await world.account()
    await sendLegs(world, [legOf(account, nowOf(world) - 2 * month)])
    renameSync(path(), `${path()}-away`)
    const before = await storedRows(world.server.store)
    await runNow()
    expect(await storedRows(world.server.store)).toEqual(before)
    expect(world.takeErrors()).not.toEqual([])
    renameSync(`${path()}-away`, path())
    await runNow()
    expect(await world.server.store.cdrs.months()).not.toContain(202511)
    const left = await world.server.store.all("SELECT path FROM cdr_files WHERE state <> 'live'")
    expect(left).toEqual([])
  })

  it('are none of a month in which no call came, whose table goes all the same', async () => {
    const { store } = world.server
    const set = new ChangeSet({ requestId: 'test' })
    await store.cdrs.make(set, 202505)
    await store.writeAlone(set.statements, set.stale)
    const files = filesOf()
    await runNow()
    expect(await store.cdrs.months()).not.toContain(202505)
    expect(filesOf()).toEqual(files)
  })
})

// This test advances the clock by months: files of other tests would be removed.
describeAnyEngine('Call records in files, after months,', (engine) => {
  const { world, path, runNow, filesOf } = useArchive(engine)

  it('go with their account, and with them what is in the files', async () => {
    const account = await world.account()
    const stays = await world.account()
    const reader = await world.admin(stays)
    await sendLegs(world, [legOf(account, nowOf(world) - 2 * month), legOf(stays, nowOf(world) - 2 * month)])
    await runNow()
    const holding = async () => {
      const rows = await world.server.store.all<{ path: string }>(
        'SELECT path FROM cdr_file_accounts WHERE account_id = $1',
        [account.id],
      )
      return rows.map((row) => row.path)
    }
    const [file = ''] = await holding()
    expect(existsSync(join(path(), file))).toBe(true)
    expect(await world.operator.delete(account.path)).toSucceed()
    world.clock.advance({ hours: 24 * 91 })
    for (let part = 0; part < 4; part += 1) {
      await world.server.scheduler.runNow('departed_calls')
      world.clock.advance({ seconds: 2 })
    }
    expect(await holding()).toEqual([])
    await runNow()
    expect(existsSync(join(path(), file))).toBe(false)
    const query = { created_from: String(nowOf(world) - 6 * month) }
    const { data } = await reader.get(`${stays.path}/cdrs`, { query })
    expect(data).toHaveLength(1)
  })

  it('go when retention says so, with the files', async () => {
    const account = await world.account()
    await sendLegs(world, [legOf(account, nowOf(world) - 2 * month)])
    await runNow()
    expect(filesOf()).not.toEqual([])
    await world.configure('cdr', { retention_months: 2 })
    world.clock.advance({ hours: 24 * 31 * 6 })
    await world.server.scheduler.runNow('cdr-retention')
    await runNow()
    expect(filesOf()).toEqual([])
    expect([...(await world.server.store.cdrs.archivedMonths())]).toEqual([])
  })
})
