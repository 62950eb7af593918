import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Route } from '../src/http/route.ts'
import type { Client } from './support/client.ts'
import { eventually } from './support/eventually.ts'
import { nameOf, pathWith, requestFor, type Samples } from './support/route-samples.ts'
import { createRewind } from './support/store-rewind.ts'
import { useWorld } from './support/world.ts'

// Every route, really called by every persona on the account Acme and its records. What came of it stands in
// expected/permissions.txt, which is reviewed as a diff. UPDATE_EXPECTED=1 writes it anew.

const file = new URL('expected/permissions.txt', import.meta.url)

const world = useWorld('sqlite')

const personas = () => ({
  nobody: world.anonymous,
  'api key': world.acmeKey,
  uli: world.uli,
  ada: world.ada,
  rex: world.rex,
  ross: world.ross,
  operator: world.operator,
})

const head = [
  'Who may call what: every route, called on the account Acme and its records.',
  '',
  'nobody    without credentials          rex       admin of Rival, an account beside Acme',
  'api key   the API key of Acme          ross      admin of the reseller above both',
  'uli       user of Acme, the one in     operator  admin of the master account',
  '          the path                     ada       admin of Acme',
  '',
  'yes: it was done. (404) and the like: allowed, but refused for another reason. 401, 403: not allowed.',
  '',
]

/** The records of Acme, and of the system, that stand in paths. */
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
  const shared = {
    attempt_id: attempts.data[0].id,
    key_id: key.id,
    config_id: 'portal',
    section: 'default',
    schema_name: 'users',
    number: '+14155550100',
  }
  return {
    system: { ...shared, provider_id: common.data.id },
    account: {
      ...shared,
      account_id: world.acme.id,
      user_id: world.uli.id,
      device_id: phone.id,
      provider_id: own.data.id,
    },
  }
}

type Ids = Awaited<ReturnType<typeof idsOf>>

const samples = async (): Promise<Samples> => {
  const target = await world.account(world.reseller)
  const apiKey = (await world.ada.get(`${world.acme.path}/api_key`)).data
  const inspected = { token: world.ada.token }
  return {
    'POST /v2/accounts/{account_id}/move': { data: { to: target.id } },
    'PUT /v2/api_auth': { data: apiKey },
    'GET /v2/auth/tokeninfo': { query: inspected },
    'POST /v2/auth/tokeninfo': { data: inspected },
  }
}

const widthOf = (column: string) => Math.max(column.length, '(404)'.length)

const outcomeOf = (status: number) => {
  if (status === 401 || status === 403) return String(status)
  return status < 300 ? 'yes' : `(${status})`
}

/** The token that a persona calls with, as the envelope echoes it. */
const tokenOf = async (client: Client) => (await client.get('/v2/security')).body.auth_token ?? 'none'

const call = async (client: Client, route: Route, ids: Ids, own: Samples) => {
  const { data, options } = requestFor(route, own)
  const inPath = route.path.includes('{account_id}') ? ids.account : ids.system
  const token = route.path.includes('{auth_token}') ? { auth_token: await tokenOf(client) } : {}
  return client.request(route.method, pathWith(route, { ...inPath, ...token }), data, options)
}

it('is who may call what, as reviewed', async () => {
  const ids = await idsOf()
  const own = await samples()
  const store = createRewind(join(world.place.dataDir, 'crosspoint.db'))
  const columns = Object.keys(personas())
  const lines: string[] = []
  try {
    for (const route of world.server.areas.routes) {
      const outcomes: string[] = []
      for (const client of Object.values(personas())) {
        const answer = await call(client, route, ids, own)
        expect(answer.status, `${nameOf(route)}: ${answer.text}`).not.toBe(429)
        outcomes.push(outcomeOf(answer.status))
        if (route.method !== 'GET') store.rewind()
      }
      const cells = outcomes.map((outcome, at) => outcome.padEnd(widthOf(columns[at] as string))).join('  ')
      lines.push(`${cells}  ${route.method.padEnd(6)} ${route.path}`.trimEnd())
    }
  } finally {
    store.close()
  }
  const matrix = [
    ...head,
    columns
      .map((name) => name.padEnd(widthOf(name)))
      .join('  ')
      .trimEnd(),
    ...lines,
    '',
  ].join('\n')
  if (process.env.UPDATE_EXPECTED) writeFileSync(file, matrix)
  expect(matrix).toBe(readFileSync(file, 'utf8'))
}, 120_000)

it('lets nobody without credentials call a route that asks for them', async () => {
  const ids = await idsOf()
  for (const route of world.server.areas.routes.filter(({ spec }) => spec.allow.needsToken)) {
    const answer = await call(world.anonymous, route, ids, {})
    expect([401, nameOf(route)]).toEqual([answer.status, nameOf(route)])
  }
})
