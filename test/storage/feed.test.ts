// No write goes around the change feed: neither over HTTP, route by route, nor by what the code can reach.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client as Postgres } from 'pg'
import { describe, expect, it } from 'vitest'
import type { Route } from '../../src/http/route.ts'
import type { Answer, Client } from '../support/client.ts'
import { nameOf, type PathIds, pathWith, requestFor, type Samples } from '../support/route-samples.ts'
import { differenceOf } from '../support/snapshot.ts'
import { describeEngines, useWorld, type World } from '../support/world.ts'

const onAccount = '/v2/accounts/{account_id}'

/** Routes with a writing method that store nothing here, and why. */
const storesNothing: Readonly<Record<string, string>> = {
  'PUT /v2/user_auth': 'a token is signed, not stored',
  'PUT /v2/api_auth': 'a token is signed, not stored',
  'POST /v2/auth/tokeninfo': 'a question with a body',
  'PUT /v2/user_auth/recovery': 'the mail alone carries the reset',
  'PUT /v2/schemas/{schema_name}/validation': 'a question with a body',
  [`PUT ${onAccount}/users/{user_id}/user_auth`]: 'a token is signed, not stored',
  [`DELETE ${onAccount}/security/login_lock`]: 'the account is not locked',
}

/** Routes that a walk with ordinary records cannot bring to success; each has tests of its own. */
const needsMore: Readonly<Record<string, string>> = {
  'POST /v2/user_auth/recovery': 'asks for the secret in a mail',
  [`PUT ${onAccount}/devices/{device_id}`]: 'asks for a media switch',
  [`POST ${onAccount}/devices/{device_id}/sync`]: 'asks for a media switch',
  [`POST ${onAccount}/devices/{device_id}/quickcall/{number}`]: 'asks for a media switch',
  [`POST ${onAccount}/users/{user_id}/quickcall/{number}`]: 'asks for a media switch',
  [`DELETE ${onAccount}/users/{user_id}/qrcode`]: 'asks for a second factor of the user',
  [`POST ${onAccount}/users/{user_id}/access_lists`]: 'users have none, whoever asks',
  [`DELETE ${onAccount}/users/{user_id}/access_lists`]: 'users have none, whoever asks',
  ...Object.fromEntries(
    [
      ...['PUT', 'POST', 'PATCH', 'DELETE'].map(
        (method) => `${method} ${onAccount}/system_configs/{config_id}`,
      ),
      ...['POST', 'PATCH', 'DELETE'].map(
        (method) => `${method} ${onAccount}/system_configs/{config_id}/{section}`,
      ),
    ].map((name) => [name, 'accounts have none, whoever asks']),
  ),
}

/** Has nothing to do on an ordinary account. */
const demotion = `DELETE ${onAccount}/reseller`

interface FeedEntry {
  account_id: string
  id: string
  kind: string
  record_id: string
  author: string
}

interface Stage {
  /** By the variables of paths. */
  ids: PathIds
  /** Paths without an account name the system's provider. */
  systemIds: PathIds
  samples: Samples
}

const provider = { name: 'Codes', provider_name: 'otp', enabled: true }
const photo = {
  headers: { 'content-type': 'image/png' },
  body: Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
}

const done = async (asking: Promise<Answer>) => {
  const answer = await asking
  expect(answer.status, answer.text).toBeLessThan(300)
  return answer
}

/** Records of an account of their own, so that no route finds what another one left. */
const setStage = async (world: World, route?: string): Promise<Stage> => {
  const { operator } = world
  const account = await world.account(world.reseller)
  const target = await world.account(world.reseller)
  const user = await world.user(account)
  const phone = await world.device(account, { owner_id: user.id })
  const list = { order: 'allow,deny', cidrs: ['203.0.113.0/24'] }
  const rates = { per_minute: { total_packets: 500 }, per_second: { total_packets: 50 } }
  await done(operator.post(`${account.path}/access_lists`, list))
  await done(operator.post(`${phone.path}/access_lists`, list))
  await done(operator.post(`${account.path}/rate_limits`, { account: rates, device: rates }))
  await done(operator.post(`${phone.path}/rate_limits`, rates))
  await done(
    operator.post(`${account.path}/token_restrictions`, {
      restrictions: { _: { _: { users: [{ rules: { '/': ['GET'] } }] } } },
    }),
  )
  await done(operator.post(`${account.path}/configs/portal`, { theme: 'blue' }))
  await done(operator.post(`${account.path}/security`, { auth_modules: {} }))
  await done(operator.post(`${user.path}/photo`, undefined, photo))
  await done(operator.post('/v2/system_configs/portal', { default: { theme: 'grey' } }))
  if (route === demotion) await done(operator.put(`${account.path}/reseller`, {}))
  const { data: factor } = await done(operator.put(`${account.path}/multi_factor`, provider))
  const { data: shared } = await done(operator.put('/v2/multi_factor', provider))
  const { data: apiKey } = await operator.get(`${world.acme.path}/api_key`)
  const [key] = (await operator.get('/v2/auth/keys')).data
  const ids = {
    account_id: account.id,
    user_id: user.id,
    device_id: phone.id,
    provider_id: factor.id,
    config_id: 'portal',
    section: 'default',
    schema_name: 'users',
    number: '+14155550100',
    key_id: key.id,
  }
  const named = (name: string) => ({ data: { name: `${name} of ${account.id}` } })
  return {
    ids,
    systemIds: { ...ids, provider_id: shared.id },
    samples: {
      'PUT /v2/accounts': named('New'),
      [`PUT ${onAccount}`]: named('New'),
      [`POST ${onAccount}`]: named('Renamed'),
      [`POST ${onAccount}/move`]: { data: { to: target.id } },
      'PUT /v2/api_auth': { data: apiKey },
      'POST /v2/auth/tokeninfo': { data: { token: world.ada.token } },
    },
  }
}

const callRoute = (by: Client, route: Route, { ids, systemIds, samples }: Stage, requestId: string) => {
  const { data, options } = requestFor(route, samples)
  const path = pathWith(route, route.path.includes('{account_id}') ? ids : systemIds)
  const headers = { ...options.headers, 'x-request-id': requestId }
  return by.request(route.method, path, data, { ...options, headers })
}

/** The routes that write; the one that ends all sessions comes last. */
const writingRoutes = ({ server }: World) => {
  const writing = server.areas.routes.filter(({ method }) => method !== 'GET')
  const isLast = (route: Route) => nameOf(route) === 'PUT /v2/auth'
  return [...writing.filter((route) => !isLast(route)), ...writing.filter(isLast)]
}

/** Nothing can be added to the outbox until it is opened again: whatever is written then goes around it. */
const closeOutbox = async ({ engine, place }: World): Promise<() => Promise<void>> => {
  if (engine === 'sqlite') {
    const db = new DatabaseSync(join(place.dataDir, 'crosspoint.db'))
    db.exec(
      "CREATE TRIGGER closed BEFORE INSERT ON outbox BEGIN SELECT RAISE(ABORT, 'the outbox is closed'); END",
    )
    return async () => {
      db.exec('DROP TRIGGER closed')
      db.close()
    }
  }
  const client = new Postgres({ connectionString: place.databaseUrl })
  await client.connect()
  await client.query(`CREATE FUNCTION closed() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'the outbox is closed'; END $$`)
  await client.query('CREATE TRIGGER closed BEFORE INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION closed()')
  return async () => {
    await client.query('DROP TRIGGER closed ON outbox')
    await client.query('DROP FUNCTION closed()')
    await client.end()
  }
}

const textOf = ({ account_id, kind, record_id }: Omit<FeedEntry, 'author' | 'id'>) =>
  `${account_id} ${kind} ${record_id}`

/** What the feed holds of one request: the entries, and the events that came with them. */
const fedBy = async ({ server }: World, requestId: string) => {
  const audit = await server.store.all<FeedEntry>(
    'SELECT account_id, id, kind, record_id, author FROM audit_log',
  )
  const entries = audit.filter(({ author }) => JSON.parse(author).requestId === requestId)
  const ids = new Set(entries.map(({ id }) => id))
  const outbox = await server.store.all<FeedEntry>('SELECT account_id, id, kind, record_id FROM outbox')
  return { entries, events: outbox.filter(({ id }) => ids.has(id)) }
}

const recordsIn = (rows: readonly string[]) =>
  rows
    .filter((row) => row.startsWith('records '))
    .map((row) => JSON.parse(row.slice('records '.length)) as Record<string, unknown>)

/** The records that differ. One whose revision is the same was not edited: only its count of sub-accounts moved. */
const changedRecords = (difference: ReturnType<typeof differenceOf>) => {
  const gone = recordsIn(difference.gone)
  const fresh = recordsIn(difference.new)
  const keyOf = (row: Record<string, unknown>) => `${row.account_id} ${row.kind} ${row.id} ${row.revision}`
  const had = new Set(gone.map(keyOf))
  const unedited = new Set(fresh.map(keyOf).filter((key) => had.has(key)))
  const edited = [...gone, ...fresh].filter((row) => !unedited.has(keyOf(row)))
  return edited.map(({ account_id, kind, id }) => `${account_id} ${kind} ${id}`)
}

describeEngines('the change feed', (engine) => {
  const world = useWorld(engine)

  it('has an entry and an event for everything that a route writes', { timeout: 240_000 }, async () => {
    const unsuccessful: string[] = []
    for (const [number, route] of writingRoutes(world).entries()) {
      const name = nameOf(route)
      const stage = await setStage(world, name)
      // Some routes end the session that asks: it is somebody's who came for that alone.
      const visitor = await world.admin(world.master)
      const before = await world.snapshot()
      const answer = await callRoute(visitor, route, stage, `feed-${number}`)
      if (answer.status >= 300) {
        unsuccessful.push(name in needsMore ? name : `${name}: ${answer.status} ${answer.text}`)
        continue
      }
      const changed = changedRecords(differenceOf(before, await world.snapshot()))
      const { entries, events } = await fedBy(world, `feed-${number}`)
      expect(events.map(textOf).toSorted(), name).toEqual(entries.map(textOf).toSorted())
      const told = new Set(entries.map(textOf))
      expect(
        changed.filter((record) => !told.has(record)),
        `${name} changed what no entry tells`,
      ).toEqual([])
      if (name in storesNothing) expect(changed, name).toEqual([])
      else expect(entries.length, `${name}: ${answer.text}`).toBeGreaterThan(0)
    }
    expect(unsuccessful.toSorted()).toEqual(Object.keys(needsMore).toSorted())
  })
})

describeEngines('the change feed, closed', (engine) => {
  const world = useWorld(engine)

  it('stops every write: no route changes anything while it takes nothing', {
    timeout: 240_000,
  }, async () => {
    const stage = await setStage(world)
    const visitor = world.unchecked(await world.admin(world.master))
    const before = await world.snapshot()
    const open = await closeOutbox(world)
    try {
      for (const route of writingRoutes(world)) {
        const name = nameOf(route)
        const answer = await callRoute(visitor, route, stage, 'closed')
        const mayAnswer = name in storesNothing || name in needsMore || name === demotion
        if (!mayAnswer) expect(answer.status, `${name}: ${answer.text}`).toBe(500)
        expect(differenceOf(before, await world.snapshot()), name).toEqual({ gone: [], new: [] })
      }
    } finally {
      await open()
      world.takeErrors()
    }
  })
})

describe('the code', () => {
  const root = join(import.meta.dirname, '../..')
  const sources = globSync('{src,bin}/**/*.ts', { cwd: root }).map((path) => ({
    path,
    text: readFileSync(join(root, path), 'utf8'),
  }))
  const pathsWith = (pattern: RegExp) =>
    sources
      .filter(({ text }) => pattern.test(text))
      .map(({ path }) => path)
      .toSorted()

  it('hands a database to nobody but the parts that make a store of it', () => {
    expect(pathsWith(/\bopen(Sqlite|Postgres)\b/)).toEqual([
      'src/compose.ts',
      'src/storage/postgres.ts',
      'src/storage/sqlite.ts',
    ])
    const holders = pathsWith(/\bimport\b[^;]*?\bDatabase\b[^;]*?from '[^']*storage\/db\.ts'/)
    expect(holders).toEqual(['src/compose.ts'])
  })

  it('writes in one place', () => {
    expect(pathsWith(/\bdb\.write\(/)).toEqual(['src/storage/store.ts'])
    expect(pathsWith(/\bwriteOf\(/)).toEqual(['src/storage/store.ts'])
    expect(pathsWith(/(INSERT INTO |name: ')(audit_log|outbox)/)).toEqual(['src/storage/change-set.ts'])
  })
})
