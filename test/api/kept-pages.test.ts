// The server shows a cached page only to callers that could also get a newly made one.
import { beforeEach, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { figureOf } from '../support/matchers/figures.ts'
import { eventually } from '../support/run/eventually.ts'
import type { Answer, Client, RequestOptions } from '../support/world/client.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { describeAnyEngine, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

const day = 86_400
const denied = { message: 'forbidden', cause: 'access denied by token restrictions' }

describeAnyEngine('cached pages', (engine) => {
  const world = useWorld(engine)
  let account: TestAccount
  let admin: Person
  let other: TestAccount
  let otherAdmin: Person

  const window = () => ({ created_from: nowOf(world) - 5 * day, created_to: nowOf(world) - 1 })
  const costs = { reseller_billing: 'per_minute', account_billing: 'flat_rate', rate: 60, rate_minimum: 60 }

  beforeEach(async () => {
    account = await world.account(world.reseller)
    admin = await world.admin(account)
    other = await world.account(world.reseller)
    otherAdmin = await world.admin(other)
    const legs = [account, other].flatMap((of) =>
      [1, 2, 3, 4, 5].map((hours) =>
        legOf(of, nowOf(world) - hours * 3600, {
          billing_seconds: 30,
          caller_id_name: `Call of ${of.id}`,
          custom_channel_vars: costs,
        }),
      ),
    )
    await sendLegs(world, legs)
  })

  /** Requested until it is cached, and returned from the cache. */
  const often = async (caller: Client, path: string, options: RequestOptions = {}): Promise<Answer> => {
    const answers: Answer[] = []
    for (let time = 0; time < 4; time += 1) answers.push(await caller.get(path, options))
    for (const { status, data, body } of answers)
      expect([status, data, body.revision]).toEqual([200, answers[0]?.data, answers[0]?.body.revision])
    return answers[3] as Answer
  }

  const hits = async () => {
    const { text } = await world.anonymous.get('/metrics')
    return figureOf(text, 'crosspoint_page_cache_lookups_total', { result: 'hit' }) ?? 0
  }

  it('take no more memory for the names of lists than a few megabytes, however long start keys are', async () => {
    const list = `${account.path}/users`
    await admin.get(list)
    for (const letter of ['a', 'b', 'c']) {
      const startKey = { start_key: letter.repeat(1_500_000) }
      expect(await admin.request('GET', list, startKey)).toSucceed()
    }
    const before = await hits()
    // The first request is forgotten: the second one counts as the first, and the third one as the second.
    for (let time = 0; time < 3; time += 1) await admin.get(list)
    expect(await hits()).toBe(before + 1)
  })

  it('come from the cache, whole and byte for byte, each with a new request id', async () => {
    const query = { ...window(), page_size: 2 }
    const [first, second, third, fourth] = [
      await admin.get(`${account.path}/cdrs`, { query }),
      await admin.get(`${account.path}/cdrs`, { query }),
      await admin.get(`${account.path}/cdrs`, { query }),
      await admin.get(`${account.path}/cdrs`, { query }),
    ]
    const before = await hits()
    const fifth = await admin.get(`${account.path}/cdrs`, { query })
    expect(await hits()).toBe(before + 1)
    const text = ({ text: whole, body }: Answer) => whole.replace(body.request_id, '')
    for (const answer of [second, third, fourth, fifth]) {
      expect(text(answer)).toBe(text(first))
      expect(answer.headers.etag).toBe(first.headers.etag)
      expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(answer.text)))
    }
    expect(new Set([first, second, third, fourth, fifth].map(({ body }) => body.request_id)).size).toBe(5)
    const headers = { 'if-none-match': String(fifth.headers.etag) }
    const unchanged = await admin.get(`${account.path}/cdrs`, { query, headers })
    expect([unchanged.status, unchanged.text, unchanged.headers.etag]).toEqual([304, '', fifth.headers.etag])
    const head = await admin.request('HEAD', `${account.path}/cdrs`, undefined, { query })
    expect([head.status, head.text]).toEqual([200, ''])
    expect(head.headers['content-length']).toBe(fifth.headers['content-length'])
  })

  it('contain only records of their account', async () => {
    const query = { ...window(), page_size: 50 }
    for (const list of ['cdrs', 'cdrs/interaction', 'users', 'devices']) {
      const own = await often(admin, `${account.path}/${list}`, { query })
      const others = await often(otherAdmin, `${other.path}/${list}`, { query })
      expect(own.text).not.toContain(other.id)
      expect(others.text).not.toContain(account.id)
      expect(await admin.get(`${other.path}/${list}`, { query })).toFailWith(403, 'forbidden')
      expect(await world.anonymous.get(`${account.path}/${list}`, { query })).toFailWith(
        401,
        'invalid_credentials',
      )
    }
  })

  it('contain only records of their user', async () => {
    const [one, two] = [await world.user(account), await world.user(account)]
    await sendLegs(
      world,
      [one, two].map((user) =>
        legOf(account, nowOf(world) - 100, { custom_channel_vars: { owner_id: user.id } }),
      ),
    )
    await world.operator.put(`${account.path}/devices`, { name: 'First', owner_id: one.id })
    await world.operator.put(`${account.path}/devices`, { name: 'Second', owner_id: two.id })
    for (const list of ['cdrs', 'cdrs/interaction', 'devices']) {
      const query = { page_size: 10, ...(list === 'devices' ? {} : window()) }
      const [ofOne, ofTwo] = [
        await often(admin, `${one.path}/${list}`, { query }),
        await often(admin, `${two.path}/${list}`, { query }),
      ]
      expect([ofOne.data.length, ofTwo.data.length]).toEqual([1, 1])
      expect(ofOne.data[0].id).not.toBe(ofTwo.data[0].id)
    }
  })

  it('show costs only to resellers and above, whichever caller asked before', async () => {
    const query = { ...window(), page_size: 50 }
    for (const list of ['cdrs', 'cdrs/interaction']) {
      const path = `${account.path}/${list}`
      const byReseller = await often(world.ross, path, { query })
      const byAdmin = await often(admin, path, { query })
      const byOperator = await often(world.operator, path, { query })
      expect(byReseller.data[0]).toHaveProperty('reseller_cost')
      expect(byOperator.data).toEqual(byReseller.data)
      expect(byAdmin.text).not.toMatch(/reseller_(?!id)/)
      expect((await often(admin, path, { query })).data).toEqual(byAdmin.data)
      expect(byAdmin.headers.etag).not.toBe(byReseller.headers.etag)
      const headers = { 'if-none-match': String(byReseller.headers.etag) }
      expect((await admin.get(path, { query, headers })).status).toBe(200)
    }
  })

  it('are refused to callers that a restriction blocks, and to users that are disabled or deleted', async () => {
    const user = await world.user(account)
    const query = { ...window(), page_size: 50 }
    for (const list of ['cdrs', 'users']) await often(user, `${account.path}/${list}`, { query })
    const restrictions = {
      cb_user_auth: { user: { _: [{ rules: { '#': ['POST'] } }] } },
      _: { user: { _: [{ rules: {} }] } },
    }
    await admin.post(`${account.path}/token_restrictions`, { restrictions })
    for (const list of ['cdrs', 'users']) {
      expect(await user.get(`${account.path}/${list}`, { query })).toFailWith(403, 'forbidden', denied)
      expect(await admin.get(`${account.path}/${list}`, { query })).toSucceed()
    }
    await admin.delete(`${account.path}/token_restrictions`)
    await admin.patch(user.path, { enabled: false })
    for (const list of ['cdrs', 'users'])
      expect(await user.get(`${account.path}/${list}`, { query })).toFailWith(401, 'invalid_credentials')
  })

  it('differ by everything that is asked for', async () => {
    const path = `${account.path}/cdrs`
    const usual = { ...window(), page_size: 2 }
    const first = await often(admin, path, { query: usual })
    const next = { ...usual, start_key: String(first.body.next_start_key) }
    const asked: Record<string, string | number | boolean>[] = [
      usual,
      { ...usual, page_size: 3 },
      { ...usual, descending: false },
      next,
      { ...usual, page_size: 10, created_from: usual.created_to - 4 * 3600 },
      { ...usual, created_to: usual.created_to - 3 * 3600 },
      { ...usual, utc_offset: 3600 },
      { ...usual, fields: '["call_id"]' },
      { ...usual, filter_caller_id_name: 'nobody' },
      { ...usual, paginate: false },
      { ...usual, full_docs: true },
    ]
    const read = async () =>
      Promise.all(asked.map(async (query) => (await admin.get(path, { query })).data as Json[]))
    const answers = await read()
    for (const _ of [1, 2, 3]) expect(await read()).toEqual(answers)
    const sizes = answers.map(({ length }) => length)
    expect(sizes).toEqual([2, 3, 2, 2, 4, 2, 2, 2, 0, 5, 2])
    const texts = answers.map((rows) => JSON.stringify(rows))
    // Only administrators have whole documents shown, and then it is the same list.
    expect(new Set(texts.slice(0, -1)).size).toBe(asked.length - 1)
    const printed = await admin.get(path, { query: { ...usual, pretty_print: true } })
    expect(printed.data).toEqual(first.data)
    expect(printed.text).toContain('\n  "data"')
    const csv = await admin.get(path, { query: { ...usual, accept: 'text/csv' } })
    expect(csv.text.split('\r\n').slice(0, 1)).toEqual([expect.stringMatching(/^id,call_id,/)])
  })

  it('follow what comes in, what is changed and what goes, at once', async () => {
    const path = `${account.path}/cdrs`
    const query = {
      created_from: nowOf(world) - 10 * day,
      created_to: nowOf(world) + 10 * day,
      page_size: 50,
    }
    expect((await often(admin, path, { query })).data).toHaveLength(5)
    await sendLegs(world, [legOf(account, nowOf(world) + day, { call_id: 'ahead' })])
    expect((await often(admin, path, { query })).data[0].call_id).toBe('ahead')
    await sendLegs(world, [legOf(other, nowOf(world))])
    expect((await often(admin, path, { query })).data).toHaveLength(6)
    const phones = `${account.path}/devices`
    const { data: phone } = await admin.put(phones, { name: 'One' })
    expect((await often(admin, phones)).data).toMatchObject([{ name: 'One' }])
    await admin.patch(`${phones}/${phone.id}`, { name: 'Two' })
    expect((await often(admin, phones)).data).toMatchObject([{ name: 'Two' }])
    await admin.delete(`${phones}/${phone.id}`)
    expect((await often(admin, phones)).data).toEqual([])
  })

  it('of accounts tell at once who comes, goes, is renamed, and who is above', async () => {
    const below = await world.account(account, { name: 'Below' })
    const deepest = await world.account(below, { name: 'Deepest' })
    const [path, deepPath] = [`${account.path}/descendants`, `${below.path}/descendants`]
    const names = async (list: string) =>
      ((await often(world.operator, list)).data as Json[]).map(({ name }) => name)
    const treeOf = async () => (await often(world.operator, deepPath)).data[0].tree
    expect(await names(path)).toEqual(['Deepest', 'Below'])
    const served = await hits()
    await world.operator.get(path)
    expect(await hits()).toBe(served + 1)
    await world.operator.patch(deepest.path, { name: 'Renamed' })
    expect(await names(path)).toEqual(['Renamed', 'Below'])
    expect(await names(`${account.path}/children`)).toEqual(['Below'])
    await world.operator.patch(deepest.path, { password_recovery: true })
    expect(await names(path)).toEqual(['Renamed', 'Below'])
    expect(await treeOf()).toEqual([world.master.id, world.reseller.id, account.id, below.id])
    expect(await world.operator.post(`${account.path}/move`, { to: other.id })).toSucceed()
    expect(await treeOf()).toEqual([world.master.id, world.reseller.id, other.id, account.id, below.id])
    expect(await world.operator.post(`${below.path}/move`, { to: world.master.id })).toSucceed()
    expect(await treeOf()).toEqual([world.master.id, below.id])
    expect(await names(path)).toEqual([])
    expect(await names(`${other.path}/descendants`)).toEqual([account.name])
    await world.operator.delete(deepest.path)
    expect(await names(deepPath)).toEqual([])
  })

  it('may be a whole list, which is what it was while it was streamed', async () => {
    for (const name of ['One', 'Two', 'Three']) await world.account(account, { name })
    const plain = { paginate: false }
    for (const [list, query] of [
      ['children', plain],
      ['users', plain],
      ['cdrs', { ...plain, ...window() }],
    ] as const) {
      const path = `${account.path}/${list}`
      const first = await world.operator.get(path, { query })
      const last = await often(world.operator, path, { query })
      const served = await hits()
      const again = await world.operator.get(path, { query })
      expect(await hits()).toBe(served + 1)
      const text = ({ text: whole, body }: Answer) => whole.replace(body.request_id, '')
      for (const answer of [last, again]) expect(text(answer)).toBe(text(first))
      expect(again.headers['content-length']).toBe(String(Buffer.byteLength(again.text)))
      const printed = await world.operator.get(path, { query: { ...query, pretty_print: true } })
      expect([printed.data, printed.text.startsWith('{\n  "data"')]).toEqual([first.data, true])
    }
  })

  it.each([
    ['ASCII', '.', 24],
    ['other letters, which take two bytes', 'ж', 13],
  ])('are no whole lists that are long: these are streamed each time, in %s', async (_, letter, count) => {
    // Each row shows the flags of its account, so these rows are more than two megabytes.
    const flags = Array.from({ length: 2000 }, (_, index) => `${index}`.padStart(50, letter))
    for (let index = 0; index < count; index += 1)
      await world.account(account, { name: `Large ${count} ${index}`, flags })
    const query = { paginate: false }
    const answers: Answer[] = []
    for (let time = 0; time < 4; time += 1)
      answers.push(await world.operator.get(`${account.path}/children`, { query }))
    for (const { data, headers, text } of answers) {
      expect(Buffer.byteLength(text)).toBeGreaterThan(2_200_000)
      expect(headers['content-length']).toBeUndefined()
      expect(data).toEqual(answers[0]?.data)
    }
    expect(answers[0]?.data).toHaveLength(count)
  })

  it('wait for room as those that are streamed do, and are not refused for what they take themselves', async () => {
    for (let index = 0; index < 8; index += 1)
      await world.account(account, { name: `Wide ${index}`, flags: ['x'.repeat(20_000)] })
    await world.configure('crossbar', { answer_bytes_per_account: 1_000_000 })
    const asked = [{ paginate: false }, { page_size: 500 }]
    for (const query of asked) {
      const ask = () => world.operator.get(`${account.path}/children`, { query })
      for (let time = 0; time < 4; time += 1) expect(await ask()).toSucceed()
      await world.operator.patch(account.path, { flags: [JSON.stringify(query)] })
      await world.account(account)
      for (const answer of await Promise.all(Array.from({ length: 6 }, ask))) expect(answer.status).toBe(200)
    }
    await world.configure('crossbar', { answer_bytes_per_account: 64_000_000 })
  })

  it('of a window that ends now follow the time', async () => {
    const path = `${account.path}/cdrs`
    const own = await world.user(account)
    const query = { page_size: 10 }
    const ids = async (list = path) =>
      ((await often(admin, list, { query })).data as Json[]).map(({ call_id: id }) => id)
    const before = await ids()
    expect(before).toHaveLength(5)
    const served = await hits()
    world.clock.advance({ seconds: 5 })
    expect(await ids()).toEqual(before)
    expect(await hits()).toBe(served + 4)
    const ahead = legOf(account, nowOf(world) + 20, { custom_channel_vars: { owner_id: own.id } })
    await sendLegs(world, [ahead])
    expect(await ids()).toEqual(before)
    expect(await ids(`${own.path}/cdrs`)).toEqual([])
    world.clock.advance({ seconds: 30 })
    expect(await ids()).toEqual([ahead.call_id, ...before])
    expect(await ids(`${own.path}/cdrs`)).toEqual([ahead.call_id])
    // The first of them is five hours old.
    await world.configure('crossbar.cdrs', { maximum_range: 5 * 3600 })
    world.clock.advance({ seconds: -5 - 30 })
    expect(await ids()).toEqual(before)
    world.clock.advance({ seconds: 1 })
    expect(await ids()).toEqual(before.slice(0, 4))
    await world.configure('crossbar.cdrs', { maximum_range: 2_682_000 })
  })

  it('follow the settings that rows are shown by', async () => {
    const path = `${account.path}/cdrs`
    const query = { ...window(), page_size: 2 }
    expect((await often(admin, path, { query })).data[0]).toHaveProperty('recording_url', '')
    await world.configure('crossbar.cdrs', { should_filter_empty_strings: true })
    expect((await often(admin, path, { query })).data[0]).not.toHaveProperty('recording_url')
    await world.configure('crossbar.cdrs', { should_filter_empty_strings: false })
    expect((await often(admin, path, { query })).data[0]).toHaveProperty('recording_url', '')
  })

  it('follow costs that are put right', async () => {
    const path = `${account.path}/cdrs`
    const query = { ...window(), page_size: 50 }
    const table = world.server.store.cdrs.tableOf(202601)
    const sql = `UPDATE ${table} SET reseller_cost = 7 WHERE account_id = $1`
    await world.server.store.writeUnrecorded([{ sql, params: [account.id] }])
    expect((await often(world.ross, path, { query })).data[0].reseller_cost).toBe('7')
    const migration = `${account.path}/migrations/rebuild_cdr_months`
    await world.operator.post(migration, { perform_migration: 'now' })
    await eventually(
      () => world.operator.get(migration),
      ({ data: { run } }) => run?.status === 'finished',
    )
    expect((await often(world.ross, path, { query })).data[0].reseller_cost).toBe('60')
  })
})

describeAnyEngine('pages of a month that is dropped', (engine) => {
  const world = useWorld(engine)

  it('are empty at once, and a record that comes back under its old id is shown as it is then', async () => {
    const path = `${world.acme.path}/cdrs`
    const query = { created_from: nowOf(world) - day, created_to: nowOf(world), page_size: 50 }
    const read = async () => {
      const answers = [1, 2, 3, 4].map(() => world.ada.get(path, { query }))
      return (await Promise.all(answers)).map(({ data }) => (data as Json[]).map((row) => row.caller_id_name))
    }
    const send = (name: string) =>
      sendLegs(world, [legOf(world.acme, nowOf(world) - 10, { call_id: 'again', caller_id_name: name })])
    await send('before')
    for (const _ of [1, 2, 3]) expect(await read()).toEqual(Array(4).fill(['before']))
    await world.server.areas.cdrs.months.drop({ requestId: 'test' }, 202601)
    for (const _ of [1, 2, 3]) expect(await read()).toEqual(Array(4).fill([]))
    await send('behind')
    for (const _ of [1, 2, 3]) expect(await read()).toEqual(Array(4).fill(['behind']))
  })
})
