// Several processes or threads do not allow more guesses than one. This machine is a trusted proxy, so X-Forwarded-For is believed.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, basicHeader, Client, type Transport } from '../support/world/client.ts'
import { type Pair, pairs } from '../support/world/pair.ts'
import { openSessionThrough, type Session } from '../support/world/session.ts'
import { credentialsOf } from '../support/world/world.ts'

const wrong = (number: number) => number.toString(16).padStart(32, '0')

describe.each(pairs)('%s', (_kind, startPair) => {
  let pair: Pair
  let session: Session

  beforeAll(async () => {
    pair = await startPair({ CROSSPOINT_DATABASE_CONNECTIONS: '5' })
    session = await openSessionThrough(pair.transports[0])
  })

  afterAll(async () => {
    await pair.end()
  })

  const configure = async (name: string, values: object) => {
    const answer = await session.admin.put(`/v2/system_configs/${name}`, { default: values })
    expect(answer.status, answer.text).toBe(201)
  }

  /** A client of the one server and the other in turn. */
  const client = (turn: number, address: string, headers: Record<string, string> = {}) => {
    const transport = pair.transports[turn % 2] as Transport
    return new Client(transport.send, { 'x-forwarded-for': address, ...headers })
  }

  const signIn = (turn: number, address: string, credentials: string) =>
    client(turn, address).put('/v2/user_auth', { credentials, account_name: 'master' })

  const statuses = async (times: number, ask: (turn: number) => Promise<Answer>) => {
    const seen: number[] = []
    for (let turn = 0; turn < times; turn += 1) seen.push((await ask(turn)).status)
    return seen
  }

  it('sell sign-ins out of one bucket for each network, and give back what good Basic credentials paid', async () => {
    await configure('token_buckets', { tokens_fill_rate: 1, tokens_fill_time: 'hour' })
    const guess = (address: string) => (turn: number) =>
      client(turn, address).put('/v2/user_auth', { credentials: wrong(turn), account_name: 'nobody' })
    const basic = basicHeader(session.masterId, credentialsOf('admin', 'secret'))
    const good = await client(0, '192.0.2.7', basic).get('/v2/about')
    expect(good.status, good.text).toBe(200)
    expect(await statuses(4, guess('192.0.2.7'))).toEqual([401, 401, 429, 429])
    expect(await statuses(4, guess('192.0.2.8'))).toEqual([401, 401, 429, 429])
    expect(await statuses(1, guess('192.0.2.9'))).toEqual([401])
  })

  it('look at as many wrong passwords as one of them would, and say when to come back', async () => {
    const free = { token_costs: 0, user_auth_tokens: 0, api_auth_tokens: 0 }
    await configure('crossbar', free)
    const rules = { guesses_of_network: 4, guesses_at_once: 6, guesses_per_minute: 1 }
    await configure('crossbar.auth', rules)
    expect(await statuses(7, (turn) => signIn(turn, '203.0.113.1', wrong(turn)))).toEqual([
      401, 401, 401, 401, 429, 429, 429,
    ])
    const refused = await signIn(1, '203.0.113.1', credentialsOf('admin', 'secret'))
    expect(refused.status).toBe(429)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(30)
    // All unknown networks together have two attempts left.
    expect(await statuses(4, (turn) => signIn(turn, `198.51.${turn}.1`, wrong(turn)))).toEqual([
      401, 401, 429, 429,
    ])
    expect((await signIn(0, '127.0.0.1', credentialsOf('admin', 'secret'))).status).toBe(201)
  })
})
