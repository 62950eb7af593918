// Cached pages equal newly made pages: over any history of writes and reads, in any process.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RunningServer, startServer } from '../../src/compose.ts'
import type { Json } from '../../src/lib/json.ts'
import { figureOf } from '../support/matchers/figures.ts'
import { createTestLog } from '../support/run/log.ts'
import { countOf } from '../support/run/run-length.ts'
import {
  type Answer,
  Client,
  createTransport,
  type RequestOptions,
  type Transport,
} from '../support/world/client.ts'
import { legOf, nowOf } from '../support/world/legs.ts'
import {
  describeAnyEngine,
  type Person,
  quickLayers,
  type TestAccount,
  useWorld,
} from '../support/world/world.ts'

const day = 86_400
const places = ['here', 'there'] as const
const readers = ['admin', 'user', 'reseller', 'operator'] as const

type Place = (typeof places)[number]
type Reader = (typeof readers)[number]

const lists = [
  'cdrs',
  'cdrs/interaction',
  'users/{user}/cdrs',
  'users/{user}/cdrs/interaction',
  'users',
  'devices',
  'users/{user}/devices',
  'groups',
  'callflows',
  'children',
  'descendants',
  'siblings',
] as const

const paging = fc.record(
  {
    page_size: fc.constantFrom(1, 2, 3, 50),
    descending: fc.boolean(),
    paginate: fc.constantFrom(true, true, true, false),
  },
  { requiredKeys: ['page_size'] },
)
const asked = fc.record(
  {
    utc_offset: fc.constantFrom(3600, -3600),
    fields: fc.constantFrom('["id"]', '["name","timestamp"]'),
    filter_duration_seconds: fc.constantFrom('30', '60'),
    full_docs: fc.constant(true),
    pretty_print: fc.constant(true),
    accept: fc.constant('text/csv'),
  },
  { requiredKeys: [] },
)

type Step =
  | { is: 'call'; at: Place; ago: number; more: Json; of: 'account' | 'rival' }
  | { is: 'person' | 'device' | 'group'; at: Place; name: string }
  | { is: 'renamed' | 'removed'; at: Place; kind: 'users' | 'devices' | 'groups'; pick: number }
  | { is: 'account' | 'account renamed' | 'account removed'; at: Place; pick: number }
  | { is: 'account moved'; at: Place; pick: number; to: number }
  | { is: 'month dropped'; at: Place; ago: number }
  | { is: 'time'; seconds: number }
  | { is: 'setting'; at: Place; omits: boolean }
  | {
      is: 'read'
      list: (typeof lists)[number]
      by: Reader
      query: Record<string, string | number | boolean>
      window: 'usual' | 'past' | 'future' | 'long ago'
      follows: boolean
    }

type Read = Extract<Step, { is: 'read' }>

const place = fc.constantFrom(...places)
// Days before now: of this month, of the last, and of a time to come, as clocks that go wrong tell it.
// Some come into the usual window, or leave it, while time goes by.
const longestWindow = 2_682_000
const ago = fc.constantFrom(-1, -45 / day, -20 / day, 0, 1, 3, 20, (longestWindow - 20) / day)
const read = fc.record({
  is: fc.constant('read' as const),
  list: fc.constantFrom(...lists),
  by: fc.constantFrom(...readers),
  query: fc
    .tuple(paging, fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: asked }))
    .map(([one, more]) => ({ ...one, ...more }) as Record<string, string | number | boolean>),
  window: fc.constantFrom(
    'usual' as const,
    'usual' as const,
    'past' as const,
    'future' as const,
    'long ago' as const,
  ),
  follows: fc.boolean(),
})
const write = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      is: fc.constant('call' as const),
      at: place,
      ago,
      more: fc.constantFrom<Json>(
        {},
        { duration_seconds: 60 },
        { caller_id_name: 'Zoë "Z"' },
        {
          billing_seconds: 5,
          custom_channel_vars: { reseller_billing: 'per_minute', account_billing: 'flat_rate', rate: 60 },
        },
      ),
      of: fc.constantFrom('account' as const, 'account' as const, 'rival' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      is: fc.constantFrom('person' as const, 'device' as const, 'group' as const),
      at: place,
      name: fc.constantFrom('a', 'B', 'ü', 'z'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      is: fc.constantFrom('renamed' as const, 'removed' as const),
      at: place,
      kind: fc.constantFrom('users' as const, 'devices' as const, 'groups' as const),
      pick: fc.nat(5),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      is: fc.constantFrom('account' as const, 'account renamed' as const, 'account removed' as const),
      at: place,
      pick: fc.nat(5),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      is: fc.constant('account moved' as const),
      at: place,
      pick: fc.nat(5),
      to: fc.nat(5),
    }),
  },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('month dropped' as const), at: place, ago }) },
  {
    weight: 1,
    arbitrary: fc.record({ is: fc.constant('time' as const), seconds: fc.constantFrom(1, 30, 60) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ is: fc.constant('setting' as const), at: place, omits: fc.boolean() }),
  },
)
const history: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof({ weight: 3, arbitrary: read }, { weight: 2, arbitrary: write }),
  {
    minLength: 10,
    maxLength: 30,
  },
)

interface Process {
  server: RunningServer
  transport: Transport
}

/** A response without the parts that differ in every response. */
const contentOf = ({ status, text, headers, body }: Answer) => ({
  status,
  text: text.replace(body.request_id, 'request'),
  etag: headers.etag,
  next: headers['x-next-start-key'],
  type: headers['content-type'],
})

describeAnyEngine('cached pages', (engine) => {
  const world = useWorld(engine)
  let there: Process
  /** A process that keeps nothing. */
  let anew: Process
  let made = 0

  const open = async (responseCacheBytes: number | undefined): Promise<Process> => {
    const { log } = createTestLog()
    const parts = { responseCacheBytes, layers: quickLayers }
    const server = await startServer(world.config, { clock: world.clock, log }, parts)
    return { server, transport: createTransport(server.port) }
  }

  beforeAll(async () => {
    there = await open(undefined)
    anew = await open(1)
  })

  afterAll(async () => {
    for (const { server, transport } of [there, anew]) {
      transport.close()
      await server.stop()
    }
  })

  const at = ({ transport }: Process, { token }: Person) =>
    new Client(transport.send, { 'x-auth-token': token })

  interface Stage {
    account: TestAccount
    user: Person
    people: Record<Reader, Person>
    nextKeys: Map<string, string>
    /** Those below the account, at whatever depth. */
    below: string[]
    /** The latest ones, which are repeated behind each write. */
    reads: Read[]
  }

  const setStage = async (): Promise<Stage> => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const user = await world.user(account)
    const people = {
      admin,
      user,
      reseller: await world.admin(world.reseller),
      operator: await world.admin(world.master),
    }
    return { account, user, people, nextKeys: new Map(), below: [], reads: [] }
  }

  const writer = (stage: Stage, process: Place) =>
    process === 'here' ? stage.people.operator : at(there, stage.people.operator)

  const succeed = (answer: Answer) => {
    if (answer.status >= 300) throw new Error(answer.text)
    return answer
  }

  const windowOf = (window: Read['window']): Record<string, number> => {
    const now = nowOf(world)
    switch (window) {
      case 'usual':
        return {}
      case 'past':
        return { created_from: now - 10 * day, created_to: now - 2 * day }
      case 'future':
        return { created_from: now - 5 * day, created_to: now + 5 * day }
      case 'long ago':
        return { created_from: now - 30 * day, created_to: now - 10 * day }
    }
  }

  const readEverywhere = async (stage: Stage, step: Read) => {
    const { account, user, people, nextKeys } = stage
    const path = `${account.path}/${step.list.replace('{user}', user.id)}`
    const window = step.list.includes('cdrs') ? windowOf(step.window) : {}
    const name = JSON.stringify([path, step.query, step.window])
    const key = step.follows ? nextKeys.get(name) : undefined
    const options: RequestOptions = {
      query: { ...step.query, ...window, ...(key === undefined ? {} : { start_key: key }) },
    }
    const reader = people[step.by]
    const expected = await at(anew, reader).get(path, options)
    if (expected.body.next_start_key) nextKeys.set(name, expected.body.next_start_key)
    // The first request caches nothing, the second one caches its page, and the third one gets the cached page.
    for (let time = 0; time < 3; time += 1)
      for (const caller of [world.clientWithToken(reader.token), at(there, reader)])
        expect(contentOf(await caller.get(path, options))).toEqual(contentOf(expected))
    if (expected.headers.etag) {
      const headers = { 'if-none-match': expected.headers.etag }
      const again = await world.clientWithToken(reader.token).get(path, { ...options, headers })
      expect([again.status, again.text]).toEqual([304, ''])
    }
  }

  const takeAccountStep = async (
    { account, people, below }: Stage,
    step: Extract<Step, { is: `account${string}` }>,
  ): Promise<void> => {
    const caller = step.at === 'here' ? people.operator : at(there, people.operator)
    const pick = (index: number) => below[index % Math.max(1, below.length)]
    const picked = pick(step.pick)
    const pathOf = (id: string | undefined) => (id === undefined ? account.path : `/v2/accounts/${id}`)
    if (step.is === 'account') {
      // Below the account, or below one of those that are below it.
      const parent = step.pick % 2 === 0 ? undefined : picked
      const { data } = succeed(await caller.put(pathOf(parent), { name: `Kept ${step.pick} ${made}` }))
      below.push(data.id)
      return
    }
    if (picked === undefined) return
    switch (step.is) {
      case 'account renamed': {
        const data = step.pick % 2 === 0 ? { name: `New ${made}` } : { flags: [`flag${made}`] }
        return void succeed(await caller.patch(pathOf(picked), data))
      }
      case 'account removed': {
        const { status } = await caller.delete(pathOf(picked))
        if (status < 300) below.splice(below.indexOf(picked), 1)
        return
      }
      case 'account moved': {
        // Out of the tree that is read, into it again, or deeper; into itself it is refused.
        const to = step.to === 0 ? world.rival.id : (pick(step.to) ?? account.id)
        return void (await caller.post(`${pathOf(picked)}/move`, { to }))
      }
    }
  }

  const fields: Record<'person' | 'device' | 'group', (name: string) => [string, Json]> = {
    person: (name) => ['users', { first_name: name, last_name: 'Kept', username: `kept${made}` }],
    device: (name) => ['devices', { name }],
    group: (name) => ['groups', { name: `${name} ${made}`, endpoints: {} }],
  }

  const takeStep = async (stage: Stage, step: Step): Promise<void> => {
    const { account } = stage
    made += 1
    switch (step.is) {
      case 'read':
        return readEverywhere(stage, step)
      case 'call': {
        const of = step.of === 'rival' ? world.rival : account
        const leg = legOf(of, nowOf(world) - Math.round(step.ago * day) - (made % 7), {
          ...step.more,
          custom_channel_vars: {
            ...(step.more.custom_channel_vars as Json | undefined),
            ...(made % 2 === 0 ? { owner_id: stage.user.id } : {}),
          },
        })
        return void succeed(await writer(stage, step.at).put('/v2/cdrs', [leg]))
      }
      case 'time':
        return void world.clock.advance({ seconds: step.seconds })
      case 'setting': {
        const values = { default: { should_filter_empty_strings: step.omits } }
        return void succeed(
          await writer(stage, step.at)
            .patch('/v2/system_configs/crossbar.cdrs', values)
            .then((answer) =>
              answer.status === 404
                ? writer(stage, step.at).put('/v2/system_configs/crossbar.cdrs', values)
                : answer,
            ),
        )
      }
      case 'account':
      case 'account renamed':
      case 'account removed':
      case 'account moved':
        return takeAccountStep(stage, step)
      case 'month dropped': {
        const seconds = nowOf(world) - Math.round(step.ago * day)
        const month = Number(
          new Date((seconds - 62_167_219_200) * 1000).toISOString().slice(0, 7).replace('-', ''),
        )
        const { server } = step.at === 'here' ? world : there
        // As each request begins: the other one may have dropped a month.
        await server.store.fence()
        const months = await server.areas.cdrs.months.months()
        if (months.includes(month)) await server.areas.cdrs.months.drop({ requestId: 'test' }, month)
        return
      }
      case 'renamed':
      case 'removed': {
        const caller = writer(stage, step.at)
        const listed = (await caller.get(`${account.path}/${step.kind}`)).data as Json[]
        // The people who read stay.
        const others = listed.filter(({ id }) => ![stage.user.id, stage.people.admin.id].includes(String(id)))
        const one = others[step.pick % Math.max(1, others.length)]
        if (!one) return
        const path = `${account.path}/${step.kind}/${one.id}`
        const change = step.kind === 'users' ? { first_name: `New ${made}` } : { name: `New ${made}` }
        return void succeed(await (step.is === 'renamed' ? caller.patch(path, change) : caller.delete(path)))
      }
      default: {
        const [list, data] = fields[step.is](step.name)
        return void succeed(await writer(stage, step.at).put(`${account.path}/${list}`, data))
      }
    }
  }

  it('equal newly made pages, byte for byte, after any writes in any process', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const stage = await setStage()
        for (const step of steps) {
          await takeStep(stage, step)
          if (step.is === 'read') stage.reads = [step, ...stage.reads].slice(0, 4)
          else for (const one of stage.reads) await readEverywhere(stage, one)
        }
      }),
      { numRuns: countOf(4, 16), endOnFailure: true },
    )
    const lookups = async (port: number, result: string) => {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
      return figureOf(text, 'crosspoint_page_cache_lookups_total', { result }) ?? 0
    }
    expect(await lookups(world.server.port, 'hit')).toBeGreaterThan(10)
    expect(await lookups(there.server.port, 'hit')).toBeGreaterThan(10)
    expect(await lookups(anew.server.port, 'hit')).toBe(0)
  })
})
