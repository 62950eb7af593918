// Answers of any length: how they are made, what they take, and who is cut off.
import { once } from 'node:events'
import { type ClientRequest, get as httpGet, type IncomingMessage } from 'node:http'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { eventually } from '../support/run/eventually.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { describeAnyEngine, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

describeAnyEngine('long answers', (engine) => {
  const world = useWorld(engine)
  let account: TestAccount
  let admin: Person
  let cdrs: string

  const makeAccount = async () => {
    account = await world.account()
    admin = await world.admin(account)
    cdrs = `${account.path}/cdrs`
  }

  const leg = (index: number, more: Json = {}) => legOf(account, nowOf(world) - index, more)

  const fill = async (count: number, more: Json = {}) => {
    for (let from = 0; from < count; from += 1000)
      await sendLegs(
        world,
        Array.from({ length: Math.min(1000, count - from) }, (_, index) => leg(from + index, more)),
      )
  }

  describe('of a few records', () => {
    beforeEach(makeAccount)

    it('have the same data whole, in chunks, indented and as a page', async () => {
      await fill(1300)
      const dataOf = async (query: Json) => {
        const answer = await admin.get(cdrs, { query: query as Record<string, string> })
        expect(answer).toSucceed()
        return JSON.stringify(answer.data)
      }
      const streamed = await dataOf({ paginate: 'false' })
      expect(JSON.parse(streamed)).toHaveLength(1300)
      expect(await dataOf({ paginate: 'false', is_chunked: 'false' })).toBe(streamed)
      expect(await dataOf({ paginate: 'false', pretty_print: 'true' })).toBe(streamed)
      expect(await dataOf({ page_size: '10000' })).toBe(streamed)
      expect(await dataOf({ page_size: '10000', pretty_print: 'true' })).toBe(streamed)
      expect(await dataOf({ paginate: 'false', filter_call_direction: 'inbound' })).not.toBe('[]')
    })

    it('are written with line breaks as JSON.stringify writes them', async () => {
      await fill(700)
      for (const query of [
        { paginate: 'false' },
        { page_size: '10000' },
        { paginate: 'false', created_to: '1' },
      ]) {
        const answer = await admin.get(cdrs, {
          query: { ...query, pretty_print: 'true' } as Record<string, string>,
        })
        expect(answer.text).toBe(`${JSON.stringify(answer.body, null, 2)}\n`)
      }
    })

    it('name pages that are too large to be kept behind their rows, and continue where they end', async () => {
      await fill(1200, { caller_id_name: 'x'.repeat(2000) })
      const first = await admin.get(cdrs, { query: { page_size: 1000 } })
      expect(first.data).toHaveLength(1000)
      expect(first.body).toMatchObject({ page_size: 1000, revision: expect.stringMatching(/^[0-9a-f]{40}$/) })
      const { next_start_key: key = '' } = first.body
      const second = await admin.get(cdrs, { query: { page_size: 1000, start_key: key } })
      expect(second.data).toHaveLength(200)
      expect(second.body).not.toHaveProperty('next_start_key')
      const whole = await admin.get(cdrs, { query: { paginate: 'false' } })
      expect([...first.data, ...second.data]).toEqual(whole.data)
    })

    it('give all legs of an interaction in their order, however many they are', async () => {
      const many = 230
      const common = { interaction_time: nowOf(world) - 500, interaction_key: 'cafe0001' }
      await sendLegs(
        world,
        Array.from({ length: many }, (_, index) =>
          leg(0, { ...common, channel_created_time: 1_767_614_260_000_000 + ((index * 37) % many) }),
        ),
      )
      const path = `${cdrs}/legs/${common.interaction_time}-${common.interaction_key}`
      const times = async (query: Record<string, string>) =>
        (await admin.get(path, { query })).data.map((one: Json) => one.channel_created_time)
      const oldest = await times({ ascending: 'true' })
      expect(oldest).toEqual(Array.from({ length: many }, (_, index) => 1_767_614_260_000_000 + index))
      expect(await times({})).toEqual(oldest.toReversed())
    })
  })

  describe('of 15 MB', () => {
    beforeAll(async () => {
      await makeAccount()
      await fill(3000, { caller_id_name: 'x'.repeat(5000) })
    })

    const usual = {
      answer_bytes: 192_000_000,
      answer_bytes_per_account: 64_000_000,
      answer_wait_s: 10,
      answer_stall_s: 120,
    }

    afterEach(() => world.configure('crossbar', usual))

    /** Asks for everything and reads no more than the beginning of it. */
    const openStream = async (): Promise<[IncomingMessage, ClientRequest]> => {
      const request = httpGet({
        port: world.server.port,
        host: '127.0.0.1',
        path: `${cdrs}?paginate=false`,
        headers: { 'x-auth-token': admin.token },
        agent: false,
      })
      request.on('error', () => undefined)
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      response.on('error', () => undefined).pause()
      return [response, request]
    }

    const getNothing = () => admin.get(cdrs, { query: { paginate: 'false', created_to: 1 } })

    const leave = async (request: ClientRequest) => {
      request.destroy()
      await eventually(getNothing, ({ status }) => status === 200)
    }

    it('are refused with 429 while running answers use all memory of the account; other accounts are not affected', async () => {
      await world.configure('crossbar', { answer_bytes_per_account: 1_000_000, answer_wait_s: 0 })
      const [, request] = await openStream()
      const refused = await admin.get(cdrs, { query: { paginate: 'false' } })
      expect(refused).toFailWith(429, 'too_many_requests')
      expect(refused.headers['retry-after']).toMatch(/^[1-9]\d*$/)
      const other = await world.admin(await world.account())
      const others = await other.get(`${other.account.path}/cdrs`, { query: { paginate: 'false' } })
      expect(others).toSucceedWith([])
      expect(await admin.get(account.path)).toSucceed()
      await leave(request)
    })

    it('leave room for a filtered page and a page of 500 rows: each reserves 2 MB', async () => {
      await world.configure('crossbar', { answer_bytes_per_account: 4_000_000, answer_wait_s: 0 })
      const [, request] = await openStream()
      const pageOf = (query: Json) => admin.get(cdrs, { query: { ...query, created_to: 1 } })
      expect(await pageOf({ filter_unknown: 'x' })).toSucceedWith([])
      expect(await pageOf({ page_size: 500 })).toSucceedWith([])
      await leave(request)
    })

    it('are refused with 503 while running answers use all memory of the server', async () => {
      await world.configure('crossbar', { answer_bytes: 3_000_000, answer_wait_s: 0 })
      const [, request] = await openStream()
      const other = await world.admin(await world.account())
      const refused = await other.get(`${other.account.path}/cdrs`, { query: { paginate: 'false' } })
      expect(refused).toFailWith(503, 'overloaded')
      expect(refused.headers['retry-after']).toMatch(/^[1-9]\d*$/)
      await leave(request)
    })

    it('wait until running answers free the memory of the account', async () => {
      await world.configure('crossbar', { answer_bytes_per_account: 1_000_000, answer_wait_s: 60 })
      const [, request] = await openStream()
      let isAnswered = false
      const waiting = getNothing().finally(() => {
        isAnswered = true
      })
      expect(await admin.get(account.path)).toSucceed()
      expect(isAnswered).toBe(false)
      request.destroy()
      expect(await waiting).toSucceedWith([])
    })

    it('are closed when a client stops reading', async () => {
      const tight = { answer_bytes_per_account: 1_000_000, answer_wait_s: 60 }
      await world.configure('crossbar', { ...tight, answer_stall_s: 1 })
      const [held] = await openStream()
      expect(await getNothing()).toSucceedWith([])
      const ended = new Promise((resolve) => held.once('close', resolve))
      held.resume()
      await ended
      expect(held.complete).toBe(false)
    })
  })
})

describeAnyEngine('whole records of any size', (engine) => {
  const world = useWorld(engine)

  it('are read as few at a time as they are large', async () => {
    const account = await world.account()
    const admin = await world.admin(account)
    const note = 'x'.repeat(900_000)
    for (let index = 0; index < 12; index += 1) await world.user(account, { last_name: `N${index}`, note })
    const page = { accountId: account.id, limit: 500, descending: false }
    const { users } = world.server.areas
    // The admin, who is small and first, and four of them.
    expect(await users.fitting(page, 4_000_000)).toBe(5)
    expect(await users.fitting(page, 100)).toBe(1)
    expect(await users.fitting({ ...page, limit: 3 }, 4_000_000)).toBe(3)
    const query = { paginate: 'false', fields: '["note"]' }
    const { data } = await admin.get(`${account.path}/users`, { query })
    expect(data.filter((user: Json) => user.note === note)).toHaveLength(12)
    const below = await world.operator.get(`${world.reseller.path}/descendants`, {
      query: { paginate: 'false' },
    })
    expect(below.data.map(({ name }: Json) => name)).toEqual(expect.arrayContaining(['Acme', 'Rival']))
  })
})

describeAnyEngine('private answers', (engine) => {
  const world = useWorld(engine)
  const privately = { 'cache-control': 'private, no-store' }

  it('must not be cached: records, lists, exports, files of tasks and failures', async () => {
    const users = `${world.acme.path}/users`
    const answers = [
      await world.ada.get(world.acme.path),
      await world.ada.get(users),
      await world.ada.get(users, { query: { paginate: false } }),
      await world.ada.get(users, { query: { accept: 'text/csv' } }),
      await world.ada.get(users, { query: { accept: 'text/csv', paginate: false } }),
      await world.ada.get(`${users}/0123456789abcdef0123456789abcdef`),
      await world.ada.get('/v2/about'),
      await world.anonymous.get(world.acme.path),
      await world.anonymous.get(`/v2/auth/tokeninfo?token=${world.ada.token}`),
      await world.anonymous.put('/v2/user_auth', {}),
      await world.ada.put(users, { first_name: 'A', last_name: 'B' }),
    ]
    for (const { headers } of answers) expect(headers).toMatchObject(privately)
    expect((await world.anonymous.get('/v2/schemas')).headers).not.toHaveProperty('cache-control')
  })

  it('are asked for again by their ETag all the same', async () => {
    for (const path of [world.acme.path, `${world.acme.path}/users`]) {
      const { headers } = await world.ada.get(path)
      const again = await world.ada.get(path, { headers: { 'if-none-match': String(headers.etag) } })
      expect(again.status).toBe(304)
      expect(again.headers).toMatchObject(privately)
    }
  })

  it('that are no pictures are saved, and nothing in them runs', async () => {
    const card = await world.ada.get(`${world.uli.path}/vcard`, { query: { accept: 'text/x-vcard' } })
    const csv = await world.ada.get(`${world.acme.path}/users`, { query: { accept: 'text/csv' } })
    for (const { headers } of [card, csv]) {
      expect(headers).toMatchObject({
        ...privately,
        'content-disposition': expect.stringMatching(/^attachment/),
        'content-security-policy': "default-src 'none'; sandbox",
        'x-content-type-options': 'nosniff',
      })
    }
  })
})
