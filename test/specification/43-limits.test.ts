// Limits.
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import type { Answer, Client } from '../support/world/client.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { createNumberSource, makeNumber } from '../support/world/numbers.ts'
import { addresses, passing, tooMany, useThrottledWorld } from '../support/world/throttled.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('Limits: request throttling with token buckets', (engine) => {
  const world = useThrottledWorld(engine)
  const freshAddress = addresses()
  const buckets = {
    max_bucket_tokens: 100,
    tokens_fill_rate: 10,
    tokens_fill_time: 'second',
    inactivity_timeout_s: 600,
    crossbar: {},
  }
  /** However long a bucket rests, it is not thrown away. */
  const never = { inactivity_timeout_s: 1_000_000 }

  /** A user above all customers, from an address without earlier requests. */
  const caller = () => world.ross.with(freshAddress())

  const withBuckets = async (values: Json, work: () => Promise<void>) => {
    await world.configure('token_buckets', values)
    await work()
    await world.configure('token_buckets', buckets)
  }

  const withCosts = async (token_costs: unknown, work: () => Promise<void>) => {
    await world.configure('crossbar', { token_costs })
    await work()
    await world.configure('crossbar', { token_costs: 1 })
  }

  it('one bucket exists per client IP address and account id', async () => {
    const [here, there] = [caller(), caller()]
    expect(await passing(() => here.get(world.acme.path))).toBe(100)
    expect(await here.get(world.acme.path)).toFailWith(...tooMany)
    expect(await here.get(world.rival.path)).toSucceed()
    expect(await there.get(world.acme.path)).toSucceed()
  })

  it('each request deducts tokens; when the bucket cannot pay, 429, and nothing is done', async () => {
    const client = caller()
    const left = async () => (await client.get(world.acme.path)).body.tokens?.remaining
    expect([await left(), await left()]).toEqual([99, 98])
    await passing(() => client.get(world.acme.path))
    const refused = await world.unchanged(() => client.patch(world.acme.path, { name: 'Acme Two' }))
    expect(refused).toFailWith(...tooMany)
  })

  it('defaults: max_bucket_tokens 100, tokens_fill_rate 10, tokens_fill_time `second`', async () => {
    const answer = await world.operator.get('/v2/system_configs/token_buckets')
    expect(answer.data.default).toMatchObject({
      max_bucket_tokens: 100,
      tokens_fill_rate: 10,
      tokens_fill_time: 'second',
    })
  })

  it('a bucket refills tokens_fill_rate tokens per tokens_fill_time until full', async () => {
    const client = caller()
    const count = () => passing(() => client.get(world.acme.path))
    expect(await count()).toBe(100)
    world.clock.advance({ milliseconds: 999 })
    expect(await count()).toBe(0)
    world.clock.advance({ milliseconds: 1 })
    expect(await count()).toBe(10)
    world.clock.advance({ seconds: 60 })
    expect(await count()).toBe(100)
  })

  it.each([
    ['second', 1000],
    ['minute', 60_000],
    ['hour', 3_600_000],
    ['day', 86_400_000],
  ])('tokens_fill_time may be `%s`', (tokens_fill_time, milliseconds) =>
    withBuckets({ max_bucket_tokens: 2, tokens_fill_rate: 1, tokens_fill_time, ...never }, async () => {
      const address = freshAddress()
      const count = async () => {
        // Tokens of people last an hour.
        const token = await world.tokenOf(world.reseller, world.ross.id)
        return passing(() => world.clientWithToken(token).with(address).get(world.acme.path), 5)
      }
      expect(await count()).toBe(2)
      world.clock.advance({ milliseconds: milliseconds - 1 })
      expect(await count()).toBe(0)
      world.clock.advance({ milliseconds: 1 })
      expect(await count()).toBe(1)
      world.clock.advance({ milliseconds: -milliseconds })
    }),
  )

  it('per-application override: the same keys under the application’s name', async () => {
    const own = { max_bucket_tokens: 3, tokens_fill_rate: 2, tokens_fill_time: 'minute' }
    await withBuckets({ max_bucket_tokens: 50, crossbar: own }, async () => {
      const client = caller()
      const count = () => passing(() => client.get(world.acme.path))
      expect(await count()).toBe(3)
      world.clock.advance({ minutes: 1 })
      expect(await count()).toBe(2)
    })
  })

  const priceOf = async (ask: (client: Client) => Promise<Answer>) =>
    (await ask(caller())).body.tokens?.consumed

  it('a request costs 1 token; token_costs may be a flat number, and 0 disables buckets', async () => {
    const get = (client: Client) => client.get(world.acme.path)
    expect(await priceOf(get)).toBe(1)
    await withCosts(25, async () => {
      const client = caller()
      expect(await passing(() => get(client))).toBe(4)
    })
    await withCosts(0, async () => {
      const client = caller()
      expect(await passing(() => get(client))).toBe(130)
    })
  })

  it('with an account in the URI the first key wins that yields a non-negative cost', async () => {
    const { id, path } = world.acme
    // From the last look-up to the first; each overrides the earlier ones.
    const inOrder: [key: string, costs: Json, price: number][] = [
      ['{endpoint}', { users: 6 }, 6],
      ['{endpoint}.{METHOD}', { users: { GET: 5 } }, 5],
      ['{account_id}', { [id]: 4, users: { GET: 5 } }, 4],
      ['{account_id}.{endpoint}', { [id]: { users: 3 }, users: { GET: 5 } }, 3],
      ['{account_id}.{endpoint}.{METHOD}', { [id]: { users: { GET: 2 } }, users: { GET: 5 } }, 2],
      ['a negative one is none', { [id]: { users: { GET: -1 } }, users: { GET: 5 } }, 5],
      ['lower-case methods are none', { users: { get: 9 } }, 1],
      ['no key at all', { devices: 9 }, 1],
    ]
    for (const [key, costs, price] of inOrder)
      await withCosts(costs, async () => {
        expect([key, await priceOf((client) => client.get(`${path}/users`))]).toEqual([key, price])
      })
  })

  it('without an account in the URI only `{endpoint}.{METHOD}` and `{endpoint}`', async () => {
    const get = (client: Client) => client.get('/v2/token_auth')
    await withCosts({ token_auth: 6 }, async () => expect(await priceOf(get)).toBe(6))
    await withCosts({ token_auth: { GET: 5 } }, async () => expect(await priceOf(get)).toBe(5))
    const ofCaller = { [world.reseller.id]: { token_auth: 9 } }
    await withCosts(ofCaller, async () => expect(await priceOf(get)).toBe(1))
  })

  it('quickcall is looked up by separate keys', async () => {
    const { id } = world.acme
    const device = await world.device(world.acme)
    const call = (client: Client) => client.get(`${device.path}/quickcall/100`)
    // In addition to the cost of the request itself, which is 1.
    const inOrder: [key: string, costs: Json, price: number][] = [
      ['devices.quickcall', { devices: { quickcall: 20 } }, 20],
      ['devices.GET.quickcall', { devices: { GET: { quickcall: 30 }, quickcall: 20 } }, 30],
      ['{account_id}.quickcall', { [id]: { quickcall: 40 }, devices: { quickcall: 20 } }, 40],
      ['{account_id}.devices.quickcall', { [id]: { devices: { quickcall: 50 }, quickcall: 40 } }, 50],
      [
        '{account_id}.devices.GET.quickcall',
        { [id]: { devices: { GET: { quickcall: 60 }, quickcall: 50 } } },
        60,
      ],
    ]
    for (const [key, costs, price] of inOrder)
      await withCosts(costs, async () => {
        const { tokens } = (await call(caller())).body
        expect([key, tokens?.remaining]).toEqual([key, 100 - 1 - price])
      })
  })
})

describeAnyEngine('Limits: other limits', (engine) => {
  const world = useWorld(engine)

  it('CDR page size: default 50; clients use next_start_key', async () => {
    const account = await world.account()
    const cdrs = `${account.path}/cdrs`
    const legs = Array.from({ length: 51 }, (_, index) => legOf(account, nowOf(world) - index))
    await sendLegs(world, legs)
    const first = await world.operator.get(cdrs)
    expect(first.body.page_size).toBe(50)
    const query = { start_key: String(first.body.next_start_key) }
    const last = await world.operator.get(cdrs, { query })
    expect(last.body.page_size).toBe(1)
    expect(last.body).not.toHaveProperty('next_start_key')
  })

  it('CDR page size: may vary with system configuration', async () => {
    const account = await world.account()
    await sendLegs(world, [legOf(account, nowOf(world)), legOf(account, nowOf(world) - 1)])
    await world.configure('crossbar', { pagination_page_size: 1 })
    const answer = await world.operator.get(`${account.path}/cdrs`)
    await world.configure('crossbar', { pagination_page_size: 50 })
    expect(answer.body.page_size).toBe(1)
  })

  it('prefix length for number search: carriers_info reports maximal_prefix_length', async () => {
    const numbers = `${world.acme.path}/phone_numbers`
    const longest = async () => (await world.ada.get(`${numbers}/carriers_info`)).data.maximal_prefix_length
    const search = (prefix: string) => world.ada.get(numbers, { query: { prefix } })
    expect(await longest()).toBe(10)
    expect(await search('4155550100')).toSucceed()
    expect(await search('41555501001')).toBreak({ prefix: ['maxLength'] })
    await world.configure('number_manager', { carrier_modules: ['knm_bandwidth2'] })
    expect(await longest()).toBe(3)
    await world.configure('number_manager', { carrier_modules: ['knm_local'] })
  })

  describe('field bounds of phone numbers', () => {
    const next = createNumberSource()
    const address = {
      locality: 'San Francisco',
      postal_code: '94105',
      region: 'CA',
      street_address: '1 Main',
    }
    const e911 = (more: Json) => ({ e911: { ...address, ...more } })
    const x = (length: number) => 'x'.repeat(length)

    it.each<[bound: string, kept: Json, past: Json, rules: Record<string, string[]>]>([
      [
        'cnam.display_name at most 15',
        { cnam: { display_name: x(15) } },
        { cnam: { display_name: x(16) } },
        { 'cnam.display_name': ['maxLength'] },
      ],
      [
        'cnam.display_name at least 1',
        { cnam: { display_name: 'x' } },
        { cnam: { display_name: '' } },
        { 'cnam.display_name': ['minLength'] },
      ],
      [
        'e911.callback_cid_number at most 10',
        e911({ callback_cid_number: '4155550100' }),
        e911({ callback_cid_number: '14155550100' }),
        { 'e911.callback_cid_number': ['maxLength'] },
      ],
      [
        'e911.callback_cid_number at least 10',
        e911({ callback_cid_number: '4155550100' }),
        e911({ callback_cid_number: '415555010' }),
        { 'e911.callback_cid_number': ['minLength'] },
      ],
      [
        'e911.caller_name at least 3',
        e911({ caller_name: 'Joe' }),
        e911({ caller_name: 'Jo' }),
        { 'e911.caller_name': ['minLength'] },
      ],
      ['e911.country 2', e911({ country: 'US' }), e911({ country: 'USA' }), { 'e911.country': ['enum'] }],
      ['e911.region 2', e911({}), e911({ region: 'CAL' }), { 'e911.region': ['maxLength'] }],
      [
        'e911.latitude at most 11',
        e911({ latitude: '37.78711234' }),
        e911({ latitude: '-37.787112345' }),
        { 'e911.latitude': ['maxLength'] },
      ],
      [
        'e911.longitude at most 11',
        e911({ longitude: '122.3977123' }),
        e911({ longitude: '-122.39771234' }),
        { 'e911.longitude': ['maxLength'] },
      ],
    ])('%s', async (_bound, kept, past, rules) => {
      const path = await makeNumber(world, world.acme, next(), { carrier_name: 'inventory' })
      expect(await world.unchanged(() => world.operator.patch(path, past))).toBreak(rules)
      const answer = await world.operator.patch(path, kept)
      expect(answer).toSucceed()
      expect(answer.data).toMatchObject(kept)
    })

    it('carrier_name 1..30', async () => {
      const path = await makeNumber(world, world.acme, next())
      const patch = (carrier_name: string) =>
        world.unchanged(() => world.operator.patch(path, { carrier_name }))
      expect(await patch('')).toBreak({ carrier_name: ['minLength'] })
      expect(await patch(x(31))).toBreak({ carrier_name: ['maxLength'] })
      // Not too long, though no carrier is called so.
      expect(await patch(x(30))).toFailWith(400, 'invalid')
      expect(await world.operator.patch(path, { carrier_name: 'inventory' })).toSucceed()
    })
  })

  it('a running task cannot be deleted; a stopped task cannot be restarted', async () => {
    await world.configure('tasks', { max_running: 0 })
    const query = { category: 'number_management', action: 'list' }
    const made = await world.ada.put(`${world.acme.path}/tasks`, undefined, { query })
    const path = `${world.acme.path}/tasks/${made.body.metadata.id}`
    await world.ada.patch(path)
    const refused = (reason: string) => ({
      message: 'bad identifier',
      cause: made.body.metadata.id,
      reason,
    })
    expect(await world.unchanged(() => world.ada.delete(path))).toFailWith(
      404,
      'bad_identifier',
      refused('task is running'),
    )
    expect(await world.ada.patch(`${path}/stop`)).toSucceed()
    expect(await world.unchanged(() => world.ada.patch(path))).toFailWith(
      404,
      'bad_identifier',
      refused('task already started'),
    )
  })

  it('SIP packet rate limits: counters for registrations, invites, total_packets, per account and per device', async () => {
    const account = await world.account()
    const device = await world.device(account)
    const counters = { registrations: 1, invites: 2, total_packets: 3 }
    const section = { per_second: counters, per_minute: counters }
    const limits = { account: section, device: section }
    expect(await world.operator.post(`${account.path}/rate_limits`, limits)).toSucceedWith(limits)
    expect(await world.operator.post(`${device.path}/rate_limits`, section)).toSucceedWith(section)
    await world.unchanged(async () => {
      const set = (per_minute: object) => world.operator.post(`${device.path}/rate_limits`, { per_minute })
      expect(await set({ calls: 1 })).toBreak({ 'per_minute.calls': ['additionalProperties'] })
      expect(await set({ invites: 1.5 })).toBreak({ 'per_minute.invites': ['type'] })
    })
  })
})
