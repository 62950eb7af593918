// A flood of sign-ins does not delay the sign-in of others. This machine is a trusted proxy, so X-Forwarded-For
// is believed.
import { expect, it } from 'vitest'
import { keyLayers } from '../../src/auth/credentials.ts'
import { eventually } from '../support/run/eventually.ts'
import type { Answer } from '../support/world/client.ts'
import { basicHeader } from '../support/world/client.ts'
import { credentialsOf, describeAnyEngine, useWorld } from '../support/world/world.ts'

const from = (address: string) => ({ 'x-forwarded-for': address })
const wrong = (number: number) => number.toString(16).padStart(32, '0')

// While one is waited for, the threads may end what they are at, and take a few others.
const fewOthers = 12

// A flood waits for them, and they cost a sixteenth of those elsewhere.
const cheaperLayers = keyLayers.map((layer) => ({ ...layer, N: layer.N / 16 }))

describeAnyEngine('a flood', (engine) => {
  // Few, so that what is left of a flood is soon done with.
  const world = useWorld(
    engine,
    (built) => built.configure('crossbar.auth', { derivations_waiting: 10 }),
    undefined,
    { layers: cheaperLayers },
  )

  /** Concurrent requests, and their results so far. */
  const flood = (requests: readonly Promise<Answer>[]) => {
    const ended: number[] = []
    for (const request of requests) void request.then(({ status }) => ended.push(status))
    return {
      all: () => Promise.all(requests),
      refused: () => ended.filter((status) => status === 429).length,
      served: () => ended.filter((status) => status !== 429).length,
    }
  }

  const login = () => ({ credentials: credentialsOf('uli', 'uli-secret'), account_realm: world.acme.realm })

  it('of sign-ins from one network stops no user of another one', async () => {
    const guesses = Array.from({ length: 200 }, (_, index) =>
      world
        .client(from(`203.0.113.${index}`))
        .put('/v2/user_auth', { credentials: wrong(index), account_realm: world.acme.realm }),
    )
    const others = flood(guesses)
    await eventually(
      async () => others.refused(),
      (count) => count >= 100,
    )
    const before = others.served()
    const mine = await world.client(from('198.51.100.7')).put('/v2/user_auth', login())
    expect(mine).toSucceed(201)
    expect(others.served() - before).toBeLessThan(fewOthers)
    for (const answer of await others.all()) {
      expect([401, 429]).toContain(answer.status)
      if (answer.status === 429) expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1)
    }
  })

  it('of password changes of one tenant stops no user of another one', async () => {
    const people = await Promise.all(Array.from({ length: 60 }, () => world.user(world.rival)))
    const changes = people.map(({ path }, index) =>
      world.rex.patch(path, { password: `Secret number ${index}` }),
    )
    const others = flood(changes)
    await eventually(
      async () => others.served(),
      (count) => count >= 1,
    )
    const before = others.served()
    expect(await world.client({}).put('/v2/user_auth', login())).toSucceed(201)
    expect(others.served() - before).toBeLessThan(fewOthers)
    for (const answer of await others.all()) expect([200, 429]).toContain(answer.status)
  })

  it('of Basic credentials stops no user of another network', async () => {
    const guesses = Array.from({ length: 100 }, (_, index) =>
      world
        .client({ ...from('203.0.113.9'), ...basicHeader(world.rival.id, wrong(index)) })
        .get(world.rival.path),
    )
    const others = flood(guesses)
    const basic = { ...from('198.51.100.9'), ...basicHeader(world.acme.id, login().credentials) }
    expect(await world.client(basic).get(world.acme.path)).toSucceed()
    for (const answer of await others.all()) expect([401, 429]).toContain(answer.status)
  })
})

describeAnyEngine('wrong passwords', (engine) => {
  const rules = { guesses_of_network: 3, guesses_at_once: 8, guesses_per_minute: 2 }
  const world = useWorld(engine, (built) => built.configure('crossbar.auth', rules))

  const place = async () => {
    const account = await world.account()
    const person = await world.user(account, { username: 'wim', password: 'wim-secret' })
    const enter = (address: string, credentials: string) =>
      world.client(from(address)).put('/v2/user_auth', { credentials, account_realm: account.realm })
    const right = credentialsOf('wim', 'wim-secret')
    return { account, person, enter, right }
  }

  const tooMany = [429, 'too_many_requests', { message: 'too many requests' }] as const

  it('of one network are checked only at a limited rate, while those of other networks proceed', async () => {
    const { enter, right } = await place()
    for (const number of [1, 2, 3]) expect((await enter('203.0.113.1', wrong(number))).status).toBe(401)
    const refused = await enter('203.0.113.200', right)
    expect(refused).toFailWith(...tooMany)
    expect(refused.headers['retry-after']).toBe('30')
    expect(await enter('198.51.100.1', right)).toSucceed(201)
    world.clock.advance({ seconds: 30 })
    expect(await enter('203.0.113.200', right)).toSucceed(201)
  })

  it('of many networks do not lock out who signed in before', async () => {
    const { enter, right } = await place()
    expect(await enter('192.0.2.1', right)).toSucceed(201)
    for (const network of [1, 2, 3])
      for (const number of [1, 2, 3]) await enter(`203.0.${network}.1`, wrong(number))
    expect(await enter('203.0.4.1', wrong(9))).toFailWith(...tooMany)
    expect(await enter('192.0.2.77', right)).toSucceed(201)
  })

  it('for an account that does not exist are answered as for one that does', async () => {
    const enter = () =>
      world
        .client(from('203.0.114.1'))
        .put('/v2/user_auth', { credentials: wrong(1), account_realm: 'nobody.test' })
    for (let count = 0; count < 3; count += 1) expect((await enter()).status).toBe(401)
    expect(await enter()).toFailWith(...tooMany)
  })

  it('in Basic credentials count as well', async () => {
    const { account, enter, right } = await place()
    for (const number of [1, 2, 3]) {
      const basic = { ...from('203.0.115.1'), ...basicHeader(account.id, wrong(number)) }
      expect((await world.client(basic).get(account.path)).status).toBe(401)
    }
    expect(await enter('203.0.115.1', right)).toFailWith(...tooMany)
  })
})

describeAnyEngine('threads that derive', (engine) => {
  const world = useWorld(
    engine,
    (built) => built.configure('crossbar.auth', { derivation_threads: 1, derivations_waiting: 2 }),
    undefined,
    { layers: cheaperLayers },
  )

  it('refuse what waits too long a line, with the time to come back', async () => {
    const enter = (number: number) =>
      world.anonymous.put('/v2/user_auth', { credentials: wrong(number), account_realm: world.acme.realm })
    const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => enter(index)))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(0)
    for (const answer of refused) {
      expect(answer).toFailWith(429, 'too_many_requests', { message: 'too many requests' })
      expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1)
    }
    expect(answers.filter(({ status }) => status === 401).length).toBeGreaterThanOrEqual(3)
  })
})
