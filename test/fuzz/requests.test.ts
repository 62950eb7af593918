// Thousands of hostile requests. CROSSPOINT_TEST_SEED repeats a run.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { countOf } from '../support/run/run-length.ts'
import type { Engine } from '../support/servers/databases.ts'
import { type Answer, createTransport, type RawRequest, type Transport } from '../support/world/client.ts'
import { walkLimitMs } from '../support/world/walk.ts'
import { describeAnyEngine, type TestAccount, useWorld, type World } from '../support/world/world.ts'
import { type Chance, createChance, seed } from './chance.ts'
import { makeRequest, type Persona } from './requests.ts'

const requestsOn: Record<Engine, number> = { sqlite: countOf(2000, 17_000), postgres: 4000 }
const roundSize = 250
const atOnce = 16
const maxGrowthBytes = 600e6

/** A caller, and the words that it must never read. */
interface Caller extends Persona {
  name: string
  secretWords: readonly string[]
}

const shared = {
  config_id: 'portal',
  section: 'default',
  schema_name: 'users',
  migration_id: 'recount_services',
  number: '+14155550100',
  key_id: '0'.repeat(32),
  phone_number: '+14155550100',
  rate_id: 'none',
  task_id: '0'.repeat(32),
  email_id: '0'.repeat(32),
  domain: 'brand.example.test',
  attempt_id: '0'.repeat(32),
  alert_id: '0'.repeat(32),
  auth_token: 'none',
}

/** An account with people and phones, all of which carry its word. */
const settle = async (world: World, parent: TestAccount) => {
  const account = await world.account(parent)
  const word = `planted-${account.id.slice(-12)}`
  await world.operator.patch(account.path, { announcement: word, flags: [word] })
  const [admin, user] = await Promise.all([
    world.admin(account, { last_name: word }),
    world.user(account, { last_name: word, custom: word }),
  ])
  const phone = await world.device(account, { name: word, owner_id: user.id })
  const provider = { name: word, provider_name: 'otp', enabled: false }
  const factor = await world.operator.put(`${account.path}/multi_factor`, provider)
  const ids = {
    ...shared,
    account_id: account.id,
    user_id: user.id,
    device_id: phone.id,
    provider_id: factor.data.id as string,
  }
  return { account, word, admin, user, ids }
}

const tokenHeader = ({ token }: { token: string }) => ({ 'x-auth-token': token })

/** Creates all callers again, because a round may have deleted them or ended their sessions. */
const gather = async (world: World): Promise<Caller[]> => {
  await world.configure('crossbar', { token_costs: 0, user_auth_tokens: 0, api_auth_tokens: 0 })
  const reseller = await settle(world, world.master)
  await world.operator.put(`${reseller.account.path}/reseller`, {})
  const acme = await settle(world, reseller.account)
  const rival = await settle(world, reseller.account)
  const master = { ...rival.ids, account_id: world.master.id }
  const others = [rival.ids, reseller.ids, master]
  const secretWords = [rival.word, reseller.word]
  return [
    { name: 'admin', headers: tokenHeader(acme.admin), own: acme.ids, others, secretWords },
    { name: 'user', headers: tokenHeader(acme.user), own: acme.ids, others, secretWords },
    { name: 'nobody', headers: {}, own: acme.ids, others, secretWords: [acme.word, ...secretWords] },
    {
      name: 'reseller',
      headers: tokenHeader(reseller.admin),
      own: { ...acme.ids, account_id: reseller.account.id },
      others: [acme.ids, rival.ids, master],
      secretWords: [],
    },
  ]
}

// 500s that the specification asks for.
const specified =
  /^(account_has_descendants|At least one object failed|quickcall initiation failed|invalid request)/

const isEnvelope = ({ headers, text, status, request }: Answer) =>
  (headers['content-type'] ?? '').startsWith('application/json') &&
  text !== '' &&
  status !== 304 &&
  request.method !== 'HEAD'

const mistakesOf = (answer: Answer, { secretWords }: Caller): string[] => {
  const { status, headers, body, text } = answer
  const mistakes: string[] = []
  const hold = (is: boolean, what: string) => is || mistakes.push(what)
  hold(status < 500 || status === 501 || specified.test(body.message ?? ''), 'an unexpected 5xx')
  hold(status !== 429, 'throttled')
  hold(headers['access-control-allow-origin'] === '*', 'no CORS headers')
  hold(typeof headers['x-request-id'] === 'string', 'no request id')
  hold(!secretWords.some((word) => text.includes(word)), "another account's record")
  if (status >= 400 && answer.request.method !== 'HEAD')
    hold(isEnvelope(answer), 'an error without an envelope')
  if (!isEnvelope(answer)) return mistakes
  hold(body.request_id === headers['x-request-id'], 'another request id inside')
  hold(body.status === (status < 400 ? 'success' : 'error'), 'a status that does not fit')
  if (status >= 400) hold(body.error === String(status) && body.data !== undefined, 'an incomplete error')
  return mistakes
}

const storyOf = ({ name }: Caller, raw: RawRequest) =>
  `seed ${seed}, ${name}: ${raw.method} ${raw.path} ${JSON.stringify(raw.headers)} ${raw.body === undefined ? '' : JSON.stringify(raw.body.toString().slice(0, 2000))}`

describeAnyEngine('hostile requests', (engine) => {
  const world = useWorld(engine)
  let transport: Transport
  let sizeBefore = 0

  beforeAll(() => {
    transport = createTransport(world.server.port)
    sizeBefore = process.memoryUsage().rss
  })

  afterAll(() => transport.close())

  /** The mistakes of one round, with the details that a reader needs. */
  const sendRound = async (chance: Chance, callers: readonly Caller[], statuses: Map<number, number>) => {
    const stories: string[] = []
    const { routes } = world.server
    const round = Array.from({ length: roundSize }, () => {
      const caller = chance.pick(callers)
      return { caller, raw: makeRequest(chance, routes, caller) }
    })
    const rest = round.values()
    const sender = async () => {
      for (const { caller, raw } of rest) {
        const answer = await transport.send(raw).catch((error: Error) => {
          throw new Error(`${storyOf(caller, raw)}: ${error.message}`)
        })
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
        const mistakes = mistakesOf(answer, caller)
        if (mistakes.length > 0)
          stories.push(`${mistakes}: ${storyOf(caller, raw)}\n${answer.status} ${answer.text.slice(0, 1000)}`)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, sender))
    return stories
  }

  it(
    'get a clear answer each, and no data of other accounts',
    async () => {
      const statuses = new Map<number, number>()
      for (let round = 0; round < requestsOn[engine] / roundSize; round += 1) {
        const callers = await gather(world)
        await sendRound(createChance(seed * 1000 + round), callers, statuses)
        expect(world.takeErrors(), `seed ${seed}, round ${round}`).toEqual([])
      }
      const counted = Object.fromEntries([...statuses].sort(([a], [b]) => a - b))
      console.log(`seed ${seed}, answers on ${engine}: ${JSON.stringify(counted)}`)
      // The walk is worth something only if much of it reaches the inside.
      expect(statuses.get(200)).toBeGreaterThan(requestsOn[engine] / 50)
      expect(statuses.get(201)).toBeGreaterThan(requestsOn[engine] / 2000)
      expect(statuses.get(400)).toBeGreaterThan(requestsOn[engine] / 20)
    },
    walkLimitMs,
  )

  it('leave a server that answers as before, in a size that has not run away', async () => {
    expect((await world.operator.get(world.master.path)).status).toBe(200)
    const made = await world.admin(world.acme)
    expect((await made.get(made.path)).data.id).toBe(made.id)
    expect(process.memoryUsage().rss - sizeBefore).toBeLessThan(maxGrowthBytes)
  })
})
