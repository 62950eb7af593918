// The specification's "Request throttling with token buckets".
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { type Answer, basicHeader, type Client } from '../support/world/client.ts'
import { addresses, passing, tooMany, useThrottledWorld } from '../support/world/throttled.ts'
import { credentialsOf, describeAnyEngine, type World } from '../support/world/world.ts'

describeAnyEngine('throttling', (engine) => {
  const world = useThrottledWorld(engine)
  const fresh = addresses()
  const caller = () => world.ada.with(fresh())
  const users = () => `${world.acme.path}/users`

  it('lets a full bucket of requests pass at once and refuses the next', async () => {
    const client = caller()
    const answers = await Promise.all(Array.from({ length: 100 }, () => client.get(world.acme.path)))
    for (const answer of answers) expect(answer).toSucceed()
    const refused = await client.get(world.acme.path)
    expect(refused).toFailWith(...tooMany)
    expect(refused.headers['retry-after']).toBe('1')
  })

  it('returns the consumed and the remaining tokens', async () => {
    const client = caller()
    expect((await client.get(users())).body.tokens).toEqual({ consumed: 1, remaining: 99 })
    expect((await client.get(users())).body.tokens).toEqual({ consumed: 1, remaining: 98 })
  })

  it('refills by the block, each second, up to the brim', async () => {
    const client = caller()
    const get = () => client.get(users())
    expect(await passing(get)).toBe(100)
    world.clock.advance({ milliseconds: 999 })
    expect(await passing(get)).toBe(0)
    world.clock.advance({ milliseconds: 1 })
    expect(await passing(get)).toBe(10)
    world.clock.advance({ seconds: 60 })
    expect(await passing(get)).toBe(100)
  })

  it('keeps a bucket for each address and account', async () => {
    const here = fresh()
    expect(await passing(() => world.ross.with(here).get(users()))).toBe(100)
    expect(await world.ada.with(here).get(users())).toFailWith(...tooMany)
    expect(await world.ross.with(here).get(`${world.rival.path}/users`)).toSucceed()
    expect(await world.ross.with(here).get('/v2/token_auth')).toSucceed()
    expect(await world.ross.with(fresh()).get(users())).toSucceed()
  })

  it('does nothing of what it refuses', async () => {
    const client = caller()
    await passing(() => client.get(users()))
    const data = { first_name: 'A', last_name: 'B' }
    const requests = [
      () => client.put(users(), data),
      () => client.patch(world.uli.path, data),
      () => client.delete(world.uli.path),
    ]
    const refused = await world.unchanged(() => Promise.all(requests.map((request) => request())))
    for (const answer of refused) expect(answer).toFailWith(...tooMany)
  })

  it('is checked before records, after the body and the token', async () => {
    const client = caller()
    await passing(() => client.get(users()))
    expect(await client.get(`${users()}/nosuch`)).toFailWith(...tooMany)
    expect(await client.put(users(), undefined, { body: '{' })).toFailWith(400, 'validation error')
    const stranger = client.with({ 'x-auth-token': 'lol' })
    expect(await stranger.get(users())).toFailWith(401, 'invalid_credentials')
  })

  it('counts an IPv6 network as one, and a site of many networks as eight', async () => {
    const client = (network: number, host: number) =>
      world.ada.with({ 'x-forwarded-for': `2001:db8:7:${network.toString(16)}::${host.toString(16)}` })
    let host = 0
    const inNetwork = (network: number) =>
      passing(() => {
        host += 1
        return client(network, host).get(users())
      })
    const each: number[] = []
    for (let network = 1; network <= 9; network += 1) each.push(await inNetwork(network))
    expect(each).toEqual([100, 100, 100, 100, 100, 100, 100, 100, 0])
    expect(await world.ada.with({ 'x-forwarded-for': '2001:db8:8::1' }).get(users())).toSucceed()
  })

  it('asks more for a password, which has to be derived', async () => {
    const client = caller()
    const name = { first_name: 'New', last_name: 'Comer' }
    expect((await client.put(users(), name)).body.tokens).toEqual({ consumed: 1, remaining: 99 })
    const withPassword = await client.put(users(), { ...name, password: 'a-secret' })
    expect(withPassword.body.tokens).toEqual({ consumed: 6, remaining: 93 })
    const changed = await client.patch(`${users()}/${withPassword.data.id}`, { password: 'another' })
    expect(changed.body.tokens).toEqual({ consumed: 6, remaining: 87 })
    await world.configure('crossbar', { derivation_tokens: 20 })
    const dearer = await client.patch(`${users()}/${withPassword.data.id}`, { password: 'a third' })
    expect(dearer.body.tokens).toEqual({ consumed: 21, remaining: 66 })
    await world.configure('crossbar', { derivation_tokens: 5 })
  })

  it('of a path below an account that names nothing comes out of that bucket: sign-ins are left alone', async () => {
    const here = fresh()
    const nowhere = () => world.ada.with(here).get(`${world.acme.path}/nowhere`)
    expect(await passing(nowhere)).toBe(100)
    expect(await world.ada.with(here).get(users())).toFailWith(...tooMany)
    expect(await world.ada.with(here).delete(`${world.acme.path}/children`)).toFailWith(...tooMany)
    expect(await world.ada.with(here).get('/v2/token_auth')).toSucceed()
  })

  it('opens no bucket for an account that does not exist', async () => {
    const here = fresh()
    const client = world.ada.with(here)
    const invented = (number: number) => client.get(`/v2/accounts/${number.toString(16).padStart(32, '0')}`)
    let number = 0
    const count = await passing(() => {
      number += 1
      return invented(number)
    })
    expect(count).toBe(100)
    expect(await client.get('/v2/token_auth')).toFailWith(...tooMany)
  })

  it('asks nothing for preflights, even of an empty bucket', async () => {
    const client = caller()
    await passing(() => client.get(users()))
    for (let round = 0; round < 120; round += 1) expect(await client.options(users())).toSucceed(200)
    world.clock.advance({ seconds: 1 })
    expect(await passing(() => client.get(users()))).toBe(10)
  })

  it('asks nothing of public requests without a token', async () => {
    const client = world.client(fresh())
    expect(await passing(() => client.get('/v2/auth/tokeninfo'))).toBe(130)
  })
})

describeAnyEngine('the price of a sign-in', (engine) => {
  const world = useThrottledWorld(engine)
  const fresh = addresses()
  const goodLogin = { credentials: credentialsOf('uli', 'uli-secret'), account_name: 'acme' }

  const signIn = (client: Client) => client.put('/v2/user_auth', goodLogin)

  it('lets two pass, and a third refused one empties the bucket', async () => {
    const client = world.client(fresh())
    expect((await signIn(client)).body.tokens).toEqual({ consumed: 35, remaining: 65 })
    expect(await signIn(client)).toSucceed()
    const third = await signIn(client)
    expect(third).toFailWith(...tooMany)
    expect(third.headers['retry-after']).toBe('4')
    world.clock.advance({ milliseconds: 3999 })
    expect(await signIn(client)).toFailWith(...tooMany)
    world.clock.advance({ seconds: 4 })
    expect(await signIn(client)).toSucceed()
  })

  it('is paid by wrong passwords too', async () => {
    const client = world.client(fresh())
    const guess = () => client.put('/v2/user_auth', { ...goodLogin, credentials: credentialsOf('uli', 'x') })
    expect(await passing(guess, 5)).toBe(2)
  })

  it('is paid for API keys', async () => {
    const client = world.client(fresh())
    const guess = () => client.put('/v2/api_auth', { api_key: 'a'.repeat(64) })
    expect(await passing(guess, 5)).toBe(2)
    expect(await signIn(client)).toFailWith(...tooMany)
  })

  it('is paid by guesses of Basic credentials, not by good ones', async () => {
    const here = fresh()
    const digest = credentialsOf('uli', 'uli-secret')
    const good = world.client({ ...here, ...basicHeader(world.acme.id, digest) })
    expect(await passing(() => good.get(world.uli.path), 50)).toBe(50)
    let guesses = 0
    const guess = () => {
      guesses += 1
      const headers = basicHeader(world.acme.id, credentialsOf('uli', `guess ${guesses}`))
      return world.client({ ...here, ...headers }).get(world.uli.path)
    }
    expect(await passing(guess, 5)).toBe(2)
  })

  it('comes out of the bucket without an account, whatever the account', async () => {
    const here = fresh()
    await passing(() => signIn(world.client(here)), 5)
    expect(await world.uli.with(here).get('/v2/token_auth')).toFailWith(...tooMany)
    expect(await world.uli.with(here).get(world.uli.path)).toSucceed()
  })

  it('is what the operator says', async () => {
    await world.configure('crossbar', { user_auth_tokens: 50 })
    expect(await passing(() => signIn(world.client(fresh())), 1)).toBe(1)
    const client = world.client(fresh())
    expect((await signIn(client)).body.tokens).toEqual({ consumed: 50, remaining: 50 })
    await world.configure('crossbar', { user_auth_tokens: 35 })
  })

  it('is never less than its own, unless nothing costs anything', async () => {
    const consumed = async (token_costs: unknown) => {
      await world.configure('crossbar', { token_costs })
      return (await signIn(world.client(fresh()))).body.tokens?.consumed
    }
    expect(await consumed(5)).toBe(35)
    expect(await consumed(60)).toBe(60)
    expect(await consumed(0)).toBe(0)
    expect(await consumed({ user_auth: 7 })).toBe(7)
    expect(await consumed({ user_auth: { PUT: 8, GET: 1 } })).toBe(8)
    expect(await consumed({ users: 3 })).toBe(35)
    await world.configure('crossbar', { token_costs: 1 })
  })
})

describeAnyEngine('the price list', (engine) => {
  const world = useThrottledWorld(engine)
  const fresh = addresses()

  const priceOf = async (request: (client: Client) => Promise<Answer>) =>
    (await request(world.ross.with(fresh()))).body.tokens?.consumed

  const withCosts = async (token_costs: unknown, act: () => Promise<void>) => {
    await world.configure('crossbar', { token_costs })
    await act()
    await world.configure('crossbar', { token_costs: 1 })
  }

  it('may be one number; zero is free', async () => {
    await withCosts(0, async () => {
      const client = world.ross.with(fresh())
      expect(await passing(() => client.get(world.acme.path))).toBe(130)
    })
    await withCosts(5, async () => {
      const client = world.ross.with(fresh())
      expect(await passing(() => client.get(world.acme.path))).toBe(20)
    })
  })

  it('finds the first price in the order of the specification', async () => {
    const { id } = world.acme
    const get = (client: Client) => client.get(`${world.acme.path}/users`)
    const layers: [Json, number][] = [
      [{ users: 6 }, 6],
      [{ users: { GET: 5, PUT: 55 } }, 5],
      [{ [id]: 4, users: { GET: 5 } }, 4],
      [{ [id]: { users: 3 }, users: { GET: 5 } }, 3],
      [{ [id]: { users: { GET: 2 } }, users: { GET: 5 } }, 2],
    ]
    for (const [costs, price] of layers)
      await withCosts(costs, async () => expect(await priceOf(get)).toBe(price))
  })

  it('applies only to the configured paths', async () => {
    const { id } = world.acme
    const get = (path: string) => priceOf((client) => client.get(path))
    await withCosts({ [id]: { callflows: 10 }, users: { PUT: 50 } }, async () => {
      expect(await get(`${world.acme.path}/users`)).toBe(1)
      expect(await get(world.acme.path)).toBe(1)
    })
    await withCosts({ [id]: 0 }, async () => {
      expect(await get(world.acme.path)).toBe(0)
      expect(await get(world.rival.path)).toBe(1)
    })
    await withCosts({ [id]: { users: 0 }, users: 9 }, async () => {
      expect(await get(`${world.acme.path}/users`)).toBe(0)
      expect(await get(`${world.rival.path}/users`)).toBe(9)
    })
    await withCosts({ accounts: 3, token_auth: { GET: 4 } }, async () => {
      expect(await get(`${world.acme.path}/children`)).toBe(3)
      expect(await get('/v2/token_auth')).toBe(4)
      expect(await get(`${world.acme.path}/users`)).toBe(1)
    })
    await withCosts({ [id]: { users: { GET: -1 } }, users: -1 }, async () => {
      expect(await get(`${world.acme.path}/users`)).toBe(1)
    })
    await withCosts({ [id]: { users: -3 }, users: 6 }, async () => {
      expect(await get(`${world.acme.path}/users`)).toBe(6)
    })
    await withCosts({ users: -1, accounts: 'many' }, async () => {
      expect(await get(`${world.acme.path}/users`)).toBe(1)
      expect(await get(world.acme.path)).toBe(1)
    })
  })

  it('makes some requests so dear that few pass', async () => {
    await withCosts({ users: { GET: 50 } }, async () => {
      const client = world.ross.with(fresh())
      expect(await passing(() => client.get(`${world.acme.path}/users`), 5)).toBe(2)
    })
  })

  it('charges the resource at the end of the path, and a tunnelled verb as itself', async () => {
    await withCosts({ users: { DELETE: 7, POST: 2 }, accounts: 50 }, async () => {
      const user = await world.user(world.acme)
      expect(await priceOf((client) => client.post(user.path, {}, { query: { verb: 'DELETE' } }))).toBe(7)
    })
  })

  it('charges a quickcall twice: as a request and as a call', async () => {
    const device = await world.device(world.acme)
    const call = (client: Client) => client.get(`${device.path}/quickcall/100`)
    const paid = async () => (await call(world.ross.with(fresh()))).body.tokens
    const { id } = world.acme
    const layers: [Json, number][] = [
      [{ devices: { quickcall: 20 } }, 79],
      [{ devices: { GET: { quickcall: 30 }, quickcall: 20 } }, 69],
      [{ [id]: { quickcall: 40 }, devices: { GET: { quickcall: 30 } } }, 59],
      [{ [id]: { devices: { quickcall: 50 }, quickcall: 40 } }, 49],
      [{ [id]: { devices: { GET: { quickcall: 60 }, quickcall: 50 } } }, 39],
    ]
    for (const [costs, remaining] of layers)
      await withCosts(costs, async () =>
        expect(await paid()).toEqual({ consumed: 100 - remaining, remaining }),
      )
  })
})

describeAnyEngine('bucket sizes', (engine) => {
  const world = useThrottledWorld(engine)
  const fresh = addresses()
  const standard = { max_bucket_tokens: 100, tokens_fill_rate: 10, tokens_fill_time: 'second' }

  const sized = async (values: Json, act: () => Promise<void>) => {
    await world.configure('token_buckets', { ...standard, ...values })
    await act()
    await world.configure('token_buckets', { ...standard, crossbar: {} })
  }

  const caller = (on: World = world) => {
    const client = on.ross.with(fresh())
    return () => client.get(on.acme.path)
  }

  it('and their filling follow the settings at once', async () => {
    await sized({ max_bucket_tokens: 7, tokens_fill_rate: 2, tokens_fill_time: 'minute' }, async () => {
      const get = caller()
      expect(await passing(get)).toBe(7)
      const refused = await get()
      expect(refused.headers['retry-after']).toBe('60')
      world.clock.advance({ seconds: 59 })
      expect(await passing(get)).toBe(0)
      world.clock.advance({ seconds: 1 })
      expect(await passing(get)).toBe(2)
    })
    expect(await passing(caller())).toBe(100)
  })

  it('of IPv6 sites are a multiple of those of their networks', async () => {
    const from = (address: string) => world.ross.with({ 'x-forwarded-for': address })
    await sized({ max_bucket_tokens: 4, ipv6_site_factor: 2 }, async () => {
      for (const [network, most] of [
        ['2001:db8:9:1::1', 4],
        ['2001:db8:9:2::1', 4],
        ['2001:db8:9:3::1', 0],
      ] as const)
        expect(await passing(() => from(network).get(world.acme.path))).toBe(most)
    })
  })

  it('can be set for this application alone', async () => {
    await sized({ max_bucket_tokens: 50, crossbar: { max_bucket_tokens: 3 } }, async () => {
      expect(await passing(caller())).toBe(3)
    })
    await sized({ max_bucket_tokens: 50, other: { max_bucket_tokens: 3 } }, async () => {
      expect(await passing(caller())).toBe(50)
    })
  })

  it('start full again after ten idle minutes', async () => {
    await sized({ max_bucket_tokens: 5, tokens_fill_rate: 1, tokens_fill_time: 'day' }, async () => {
      const get = caller()
      expect(await passing(get)).toBe(5)
      world.clock.advance({ minutes: 10 })
      expect(await passing(get)).toBe(0)
      world.clock.advance({ minutes: 10, milliseconds: 1 })
      expect(await passing(get)).toBe(5)
      world.clock.advance({ minutes: -20, milliseconds: -1 })
    })
  })
})

describeAnyEngine('the address of the client', (engine) => {
  const world = useThrottledWorld(engine)
  const left = async (forwarded: string) => {
    const answer = await world.ross.get(world.rival.path, { headers: { 'x-forwarded-for': forwarded } })
    return answer.body.tokens?.remaining
  }

  it('is the last one in front of a trusted proxy', async () => {
    expect(await left('198.51.100.1')).toBe(99)
    expect(await left('198.51.100.2')).toBe(99)
    expect(await left('10.9.9.9, 198.51.100.1')).toBe(98)
    expect(await left('anything, 198.51.100.1')).toBe(97)
    expect(await left('198.51.100.1, 127.0.0.1')).toBe(96)
  })

  it('is the peer when that is no trusted proxy', async () => {
    await world.configure('crossbar', { reverse_proxies: ['192.0.2.1'] })
    const first = (await left('198.51.100.11')) as number
    expect(await left('198.51.100.12')).toBe(first - 1)
    await world.configure('crossbar', { reverse_proxies: ['127.0.0.0/8'] })
    expect(await left('198.51.100.13')).toBe(99)
    await world.configure('crossbar', { reverse_proxies: ['127.0.0.1'] })
  })

  it('is taken from the client if the operator does not check proxies', async () => {
    await world.configure('crossbar', { check_reverse_proxies: false, reverse_proxies: [] })
    expect(await left('198.51.100.21')).toBe(99)
    await world.configure('crossbar', { check_reverse_proxies: true, reverse_proxies: ['127.0.0.1'] })
  })
})
