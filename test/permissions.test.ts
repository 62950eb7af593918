import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Example } from '../src/http/openapi/openapi.ts'
import type { Route } from '../src/http/route.ts'
import { commitExamples, committedExamples, exampleFiles, exampleOf } from './support/examples/examples.ts'
import { addFurtherExamples } from './support/examples/further-examples.ts'
import { eventually } from './support/run/eventually.ts'
import { createRewind } from './support/servers/store-rewind.ts'
import { createAuthenticator } from './support/world/authenticator.ts'
import type { Client } from './support/world/client.ts'
import { nameOf, pathWith, requestFor, type Samples, sampleApps } from './support/world/route-samples.ts'
import { furtherRecords } from './support/world/route-stage.ts'
import { walkLimitMs, walkOf } from './support/world/walk.ts'
import { credentialsOf, useWorld } from './support/world/world.ts'

// Routes, really called by personas on the account Acme and its records. The results are in expected/permissions.txt,
// which is reviewed as a diff. The last persona of a row that is granted the request gives the example of the operation in
// src/http/openapi/examples. `npm run test:all` calls every route as every persona, `npm test` as the persona of the
// example and as another one that is drawn. `npm run generate` calls all and writes both.

const file = new URL('expected/permissions.txt', import.meta.url)
const isUpdate = process.env.UPDATE_EXPECTED !== undefined
const committed = readFileSync(file, 'utf8')

const world = useWorld('sqlite')

interface Others {
  wes: Client
  rita: Client
  olaf: Client
}

const personas = ({ wes, rita, olaf }: Others) => ({
  nobody: world.anonymous,
  'api key': world.acmeKey,
  uli: world.uli,
  ada: world.ada,
  rex: world.rex,
  rita,
  ross: world.ross,
  wes,
  olaf,
  operator: world.operator,
})

const head = [
  'Who may call what: every route, called on the account Acme and its records.',
  '',
  'nobody    without credentials          rita      user of the reseller of both',
  'api key   the API key of Acme          ross      admin of the reseller of both',
  'uli       user of Acme, the one in     wes       admin of the reseller above that one',
  '          the path                     olaf      user of the master account',
  'ada       admin of Acme                operator  admin of the master account',
  'rex       admin of Rival, an account',
  '          next to Acme',
  '',
  'yes: it was done. (404) and the like: allowed, but refused for another reason. 401, 403: not allowed.',
  '',
]

/** An admin of a reseller that comes between the master account and the reseller of Acme. */
const wholesaler = async () => {
  const wholesale = await world.account(world.master, { name: 'Wholesale', realm: 'wholesale.test' })
  await world.operator.put(`${wholesale.path}/reseller`, {})
  await world.operator.post(`${world.reseller.path}/move`, { to: wholesale.id })
  return world.admin(wholesale, { username: 'wes' })
}

/** The records of Acme, and of the system, that occur in paths. */
const idsOf = async () => {
  const phone = await world.device(world.acme, { name: 'Phone', owner_id: world.uli.id })
  const provider = { name: 'Codes', provider_name: 'otp', enabled: true }
  const own = await world.operator.put(`${world.acme.path}/multi_factor`, provider)
  const common = await world.operator.put('/v2/multi_factor', provider)
  await world.operator.post(`${world.uli.path}/photo`, undefined, {
    headers: { 'content-type': 'image/png' },
    body: Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
  })
  await world.operator.post(`${world.acme.path}/security`, { auth_modules: {} })
  await world.operator.post(`${world.acme.path}/configs/portal`, { theme: 'blue' })
  await world.operator.post('/v2/system_configs/portal', { default: { theme: 'grey' } })
  await world.anonymous.put('/v2/user_auth', { credentials: '0'.repeat(32), account_name: 'Acme' })
  const attempts = await eventually(
    () => world.ada.get(`${world.acme.path}/security/attempts`),
    ({ data }) => data.length > 0,
  )
  const [key] = (await world.operator.get('/v2/auth/keys')).data
  const apiKey = await world.operator.put(`${world.acme.path}/api_keys`, { name: 'A key', scopes: ['*'] })
  const receiver = { name: 'A hook', uri: 'https://receiver.invalid/', hook: 'sms' }
  const webhook = await world.operator.put(`${world.acme.path}/webhooks`, receiver)
  await world.configure('passkeys', { rp_id: 'localhost', origins: ['http://localhost'] })
  const making = (await world.uli.put(`${world.uli.path}/passkeys/options`, {})).data
  const credential = createAuthenticator().create(making)
  const passkey = await world.uli.put(`${world.uli.path}/passkeys`, { name: 'A passkey', credential })
  for (const place of ['/v2', world.acme.path])
    await world.operator.post(`${place}/notifications/password_recovery`, { subject: 'A way back in' })
  await world.user(world.acme, { username: 'una', email: 'una@acme.test' })
  await world.deliverMail()
  const [sent] = (await world.ada.get(`${world.acme.path}/notifications/smtplog`)).data
  await world.operator.put(`${world.acme.path}/whitelabel`, { domain: 'brand.acme.test' })
  const sender = await world.operator.put(`${world.acme.path}/whitelabel/emails`, { email: 'a@acme.test' })
  for (const [kind, type, body] of [
    ['logo', 'image/png', '\x89PNG\r\n\x1a\n'],
    ['icon', 'image/x-icon', '\0\0\x01\0\x01\0'],
    ['welcome', 'text/html', '<p>Welcome</p>'],
  ] as const) {
    await world.operator.post(`${world.acme.path}/whitelabel/${kind}`, undefined, {
      headers: { 'content-type': type },
      body: Buffer.from(body, 'latin1'),
    })
  }
  const number = '+14155550100'
  await world.operator.put(`${world.acme.path}/phone_numbers/${encodeURIComponent(number)}/port`, { my: 1 })
  const carrier = { name: 'A carrier', gateways: [{ server: '203.0.113.7' }], rules: ['^\\+'] }
  const ofAll = await world.operator.put('/v2/resources', carrier)
  const local = await world.operator.put(`${world.acme.path}/resources`, carrier)
  const trunk = await world.operator.put(`${world.acme.path}/connectivity`, { name: 'Head office' })
  await world.operator.put('/v2/rates', { id: 'sample-rate', prefix: 1, rate_cost: 0.1 })
  const alert = await world.operator.put(`${world.acme.path}/alerts`, {
    title: 'A sample',
    message: 'Nothing is wrong',
    from: [{ type: 'account', value: world.acme.id }],
    to: [{ type: world.acme.id, value: 'all' }],
  })
  const flow = { module: 'user', data: { id: world.uli.id } }
  const callflow = await world.operator.put(`${world.acme.path}/callflows`, {
    name: 'Uli',
    numbers: ['100'],
    flow,
  })
  const group = await world.operator.put(`${world.acme.path}/groups`, {
    name: 'Everybody',
    endpoints: { [world.uli.id]: { type: 'user' } },
  })
  await world.configure('apps_store', { apps: sampleApps })
  const leg = {
    call_id: 'sample',
    channel_created_time: world.clock.now() * 1000,
    custom_channel_vars: { account_id: world.acme.id },
  }
  await world.operator.put('/v2/cdrs', [leg])
  const [call] = (await world.ada.get(`${world.acme.path}/cdrs`)).data
  // Started tasks stay where they are.
  await world.configure('tasks', { max_running: 0 })
  const listing = 'tasks?category=number_management&action=list'
  const task = await world.operator.put(`${world.acme.path}/${listing}`)
  const ofMaster = await world.operator.put(`/v2/${listing}`)
  const shared = {
    attempt_id: attempts.data[0].id,
    key_id: key.id,
    api_key_id: apiKey.data.id as string,
    webhook_id: webhook.data.id as string,
    sample_id: 'object',
    passkey_id: passkey.data.id as string,
    phone_number: number,
    rate_id: 'sample-rate',
    domain: 'brand.acme.test',
    email_id: String(sender.body.metadata.id),
    config_id: 'portal',
    section: 'default',
    schema_name: 'users',
    migration_id: 'recount_services',
    number: '+14155550100',
    notification_id: 'password_recovery',
    smtplog_id: sent.id,
    alert_id: alert.data.id as string,
    callflow_id: callflow.data.id as string,
    group_id: group.data.id as string,
    app_id: 'sample-app',
    index: '0',
    cdr_id: call.id,
    interaction_id: call.interaction_id,
  }
  const further = await furtherRecords(world, {
    ...shared,
    account_id: world.acme.id,
    device_id: phone.id,
    // Acme is not a reseller, and has no plans.
    service_plan_id: 'unknown',
    resource_id: local.data.id,
    connectivity_id: trunk.data.id,
    user_id: world.uli.id,
    provider_id: own.data.id,
    task_id: 'unknown',
  })
  return {
    system: {
      ...shared,
      resource_id: ofAll.data.id,
      provider_id: common.data.id,
      task_id: String(ofMaster.body.metadata.id),
    },
    account: {
      ...further,
      ...shared,
      account_id: world.acme.id,
      user_id: world.uli.id,
      device_id: phone.id,
      resource_id: local.data.id,
      connectivity_id: trunk.data.id,
      provider_id: own.data.id,
      task_id: String(task.body.metadata.id),
    },
  }
}

type Ids = Awaited<ReturnType<typeof idsOf>>

const samples = async (): Promise<Samples> => {
  const target = await world.account(world.reseller, { name: 'A customer', realm: 'customer.test' })
  const apiKey = (await world.ada.get(`${world.acme.path}/api_key`)).data
  const inspected = { token: world.ada.token }
  return {
    'POST /v2/accounts/{account_id}/move': { data: { to: target.id } },
    'PUT /v2/api_auth': { data: apiKey },
    // A user with a passkey enrols no other factor by the password alone.
    'PUT /v2/multi_factor/qrcode': {
      data: { credentials: credentialsOf('ada', 'ada-secret'), account_name: 'Acme' },
    },
    'GET /v2/auth/tokeninfo': { query: inspected },
    'POST /v2/auth/tokeninfo': { data: inspected },
  }
}

const widthOf = (column: string) => Math.max(column.length, '(404)'.length)

const outcomeOf = (status: number) => {
  if (status === 401 || status === 403) return String(status)
  return status < 300 ? 'yes' : `(${status})`
}

/** The reviewed outcomes of a route, in the order of the personas. */
const reviewed = new Map(
  committed
    .split('\n')
    .map((line) => /^(.+?) {2,}([A-Z]+ +\/\S+)$/.exec(line))
    .filter((row) => row !== null)
    .map(([, cells = '', route = '']) => [route.replace(/ +/, ' '), cells.split(/ +/)]),
)

// A user may delete itself with these parts, and no other user: see api/ordinary-users.
const ownRecords = ['/v2/accounts/{account_id}/users/{user_id}']

/** Routes by which an ordinary user deletes a record with a part that this user may not change. */
const removalsOfGuardedParts = () => {
  const column = Object.keys(callers).indexOf('uli')
  const routes = [...reviewed].map(([name, cells]) => {
    const [method = '', path = ''] = name.split(' ')
    const cell = cells[column]
    // A cell such as (404) means: allowed, but the sample has no record of the kind, or the server no switch.
    return { name, method, path, isAllowed: cell !== '401' && cell !== '403', isRefused: cell === '403' }
  })
  const isGuarded = (parent: string) =>
    routes.some(
      ({ method, path, isRefused }) => method !== 'GET' && isRefused && path.startsWith(`${parent}/`),
    )
  return routes
    .filter(({ method, path, isAllowed }) => method === 'DELETE' && isAllowed && !ownRecords.includes(path))
    .filter(({ path }) => isGuarded(path))
    .map(({ name }) => name)
}

/** The token that a persona calls with, as the envelope echoes it. */
const tokenOf = async (client: Client) => (await client.get('/v2/security')).body.auth_token ?? 'none'

const call = async (client: Client, route: Route, ids: Ids, own: Samples) => {
  const asked = requestFor(route, own)
  const { data, options } = asked
  const inPath = route.path.includes('{account_id}') ? ids.account : ids.system
  const token = route.path.includes('{auth_token}') ? { auth_token: await tokenOf(client) } : {}
  const path = pathWith(route, { ...inPath, ...token })
  return { asked, answer: await client.request(route.method, path, data, options) }
}

/** Whatever the order of the areas. */
const inOrder = (routes: readonly Route[]) => {
  const keyOf = ({ path, method }: Route) => `${path} ${method}`
  return routes.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

type Caller = keyof ReturnType<typeof personas>

let ids: Ids
let own: Samples
let callers: ReturnType<typeof personas>
let store: ReturnType<typeof createRewind>

beforeAll(async () => {
  ids = await idsOf()
  own = await samples()
  callers = personas({
    wes: await wholesaler(),
    rita: await world.user(world.reseller, { username: 'rita' }),
    olaf: await world.user(world.master, { username: 'olaf' }),
  })
  // Examples show counts by the day, which a fold writes.
  await world.server.scheduler.runNow('quantities')
  store = createRewind(join(world.place.dataDir, 'crosspoint.db'))
})

afterAll(() => store.close())

/** Callers of each route in this run. */
const callersOf = (routes: readonly Route[], columns: readonly Caller[]) => {
  const drawn = Map.groupBy(walkOf(routes, columns), ([route]) => route)
  return (route: Route) => {
    if (isUpdate) return columns
    const named = new Set(drawn.get(route)?.map(([, column]) => column))
    const cells = reviewed.get(nameOf(route))
    const ofExample = columns.findLast((_column, at) => cells?.[at] === 'yes')
    // All callers that must be refused call each route: a missing permission shows in no other cell.
    return columns.filter((column, at) => named.has(column) || column === ofExample || cells?.[at] === '403')
  }
}

it(
  'is who may call what, as reviewed',
  async () => {
    const columns = Object.keys(callers) as Caller[]
    const routes = inOrder(world.server.routes)
    const callersFor = callersOf(routes, columns)
    const examples = new Map<string, Example>()
    const lines: string[] = []
    for (const route of routes) {
      const outcomes = new Map<Caller, string>()
      for (const caller of callersFor(route)) {
        const { asked, answer } = await call(callers[caller], route, ids, own)
        expect(answer.status, `${nameOf(route)}: ${answer.text}`).not.toBe(429)
        if (answer.status < 300) examples.set(nameOf(route), exampleOf(asked, answer))
        outcomes.set(caller, outcomeOf(answer.status))
        if (route.method !== 'GET') store.rewind()
      }
      // Cells that this run does not call are taken as reviewed.
      const cells = columns.map((caller, at) => {
        const cell = outcomes.get(caller) ?? reviewed.get(nameOf(route))?.[at] ?? 'not reviewed'
        return cell.padEnd(widthOf(caller))
      })
      lines.push(`${cells.join('  ')}  ${route.method.padEnd(6)} ${route.path}`)
    }
    await addFurtherExamples(world, examples)
    store.rewind()
    const titles = columns.map((name) => name.padEnd(widthOf(name))).join('  ')
    const matrix = [...head, titles.trimEnd(), ...lines, ''].join('\n')
    const shown = exampleFiles(world.server.routes, examples)
    if (isUpdate) {
      writeFileSync(file, matrix)
      commitExamples(shown)
    }
    expect(matrix).toBe(readFileSync(file, 'utf8'))
    // Before openapi.json, which shows them.
    expect(shown).toEqual(committedExamples())
  },
  walkLimitMs,
)

it('rejects calls without credentials on routes that require them', async () => {
  for (const route of world.server.routes.filter(({ spec }) => spec.allow.needsToken)) {
    const { answer } = await call(world.anonymous, route, ids, {})
    expect([401, nameOf(route)]).toEqual([answer.status, nameOf(route)])
  }
})

it('lets no ordinary user delete a record with a part that this user may not change', () => {
  expect(removalsOfGuardedParts()).toEqual([])
})
