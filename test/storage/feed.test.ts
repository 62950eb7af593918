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
  [`POST ${onAccount}/phone_numbers/fix`]: 'nothing is out of order',
  [`POST ${onAccount}/phone_numbers/fix/{phone_number}`]: 'nothing is out of order',
  [`POST ${onAccount}/services/quote`]: 'a question about prices',
  [`POST ${onAccount}/services/reconciliation`]: 'every count is right',
  [`POST ${onAccount}/services/synchronization`]: 'nobody outside has to be told',
  [`POST ${onAccount}/whitelabel/domains`]: 'a question to name servers',
  [`POST ${onAccount}/phone_numbers/check`]: 'a question to carriers',
  'POST /v2/notifications/{notification_id}/preview': 'a mail is sent',
  [`POST ${onAccount}/notifications/{notification_id}/preview`]: 'a mail is sent',
}

/** Routes that a walk with ordinary records cannot bring to success; each has tests of its own. */
const needsMore: Readonly<Record<string, string>> = {
  'POST /v2/user_auth/recovery': 'asks for the secret in a mail',
  [`PUT ${onAccount}/transactions/sale`]: 'asks for a bookkeeper outside',
  [`PUT ${onAccount}/transactions/refund`]: 'asks for a bookkeeper outside',
  [`PUT ${onAccount}/transactions/{transaction_id}`]: 'never succeeds, whoever asks',
  [`PUT ${onAccount}/services/payment_tokens`]: 'asks for a bookkeeper outside',
  [`PUT ${onAccount}/services/payment_tokens/setup`]: 'asks for a bookkeeper outside',
  [`POST ${onAccount}/services/payment_tokens/{token_id}`]: 'asks for a bookkeeper outside',
  [`DELETE ${onAccount}/services/payment_tokens/{token_id}`]: 'asks for a bookkeeper outside',
  [`PUT ${onAccount}/devices/{device_id}`]: 'asks for a media switch',
  [`POST ${onAccount}/devices/{device_id}/sync`]: 'asks for a media switch',
  [`POST ${onAccount}/devices/{device_id}/quickcall/{number}`]: 'asks for a media switch',
  [`POST ${onAccount}/users/{user_id}/quickcall/{number}`]: 'asks for a media switch',
  [`PUT ${onAccount}/phone_numbers/{phone_number}/reserve`]: 'asks for a number that is not coming in',
  [`POST ${onAccount}/whitelabel/emails/{email_id}/verify`]: 'asks for the code in a mail',
  [`POST ${onAccount}/phone_numbers/locality`]: 'asks for an inventory or imported localities',
  'POST /v2/work/{kind}/{id}/retry': 'asks for an errand that waits',
  'PUT /v2/tasks/{task_id}/retry': 'asks for failed rows',
  [`PUT ${onAccount}/tasks/{task_id}/retry`]: 'asks for failed rows',
  [`POST ${onAccount}/invoices/{invoice_id}/pay`]: 'asks for an invoice of a month',
  [`POST ${onAccount}/invoices/{invoice_id}/void`]: 'asks for an invoice of a month',
  [`PUT ${onAccount}/invoices/{invoice_id}/credit_notes`]: 'asks for an invoice of a month',
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

/** Asks for a task that runs. */
const isStop = (route: string | undefined) => route?.endsWith('/tasks/{task_id}/stop') === true

/** Has nothing to do on an ordinary account. */
const demotion = `DELETE ${onAccount}/reseller`

/** Is done once: the ordinary account has what it makes. */
const branding = `PUT ${onAccount}/whitelabel`

/** Is sold by resellers only. */
const isPlan = (route: string | undefined) => route?.includes('/service_plans') === true

/** Takes away what was assigned. */
const unassignment = `DELETE ${onAccount}/services/{plan_id}`

const pays = {
  source: { service: 'sample', id: 'given' },
  usage: { type: 'a', quantity: 1, unit: 'b' },
  amount: 10,
}

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

let stages = 0

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
  const domain = `${account.id}.test`
  if (route !== branding) await done(operator.put(`${account.path}/whitelabel`, { domain }))
  const sender = await done(operator.put(`${account.path}/whitelabel/emails`, { email: `a@${domain}` }))
  if (route === demotion) await done(operator.put(`${account.path}/reseller`, {}))
  for (const place of ['/v2', account.path])
    await done(operator.post(`${place}/notifications/password_recovery`, { subject: 'A way back in' }))
  const { data: factor } = await done(operator.put(`${account.path}/multi_factor`, provider))
  const { data: shared } = await done(operator.put('/v2/multi_factor', provider))
  const { data: rate } = await done(operator.put('/v2/rates', { prefix: 1, rate_cost: 0.1 }))
  const { data: apiKey } = await operator.get(`${world.acme.path}/api_key`)
  const [key] = (await operator.get('/v2/auth/keys')).data
  const plan = { name: 'Plan', plan: {} }
  const { data: sold } = await done(operator.put(`${world.reseller.path}/service_plans`, plan))
  if (route === unassignment) await done(operator.post(`${account.path}/services`, { add: [sold.id] }))
  if (isPlan(route)) await done(operator.put(`${account.path}/reseller`, {}))
  const { data: own } = isPlan(route)
    ? await done(operator.put(`${account.path}/service_plans`, plan))
    : { data: { id: '' } }
  await done(operator.put(`${account.path}/ledgers/credit`, pays))
  const { data: alert } = await done(
    operator.put(`${account.path}/alerts`, {
      title: 'A sample',
      message: 'Nothing is wrong',
      from: [{ type: 'account', value: account.id }],
      to: [{ type: account.id, value: 'all' }],
    }),
  )
  // Started tasks stay where they are.
  await world.configure('tasks', { max_running: 0 })
  const makeTask = async (place: string) => {
    const made = await done(operator.put(`${place}/tasks?category=number_management&action=list`))
    const id = String(made.body.metadata.id)
    if (isStop(route)) await done(operator.patch(`${place}/tasks/${id}`))
    return id
  }
  // A number that is coming in can be created, activated, changed and released.
  stages += 1
  const number = `+1415${String(5_000_000 + stages)}`
  await done(operator.put(`${account.path}/phone_numbers/${encodeURIComponent(number)}/port`, { my: 1 }))
  const collected = { data: { numbers: [number], my: 2 } }
  const collection = `${onAccount}/phone_numbers/collection`
  const ids = {
    task_id: await makeTask(account.path),
    phone_number: number,
    account_id: account.id,
    user_id: user.id,
    device_id: phone.id,
    provider_id: factor.id,
    config_id: 'portal',
    section: 'default',
    schema_name: 'users',
    migration_id: 'recount_services',
    number: '+14155550100',
    key_id: key.id,
    rate_id: rate.id,
    plan_id: sold.id,
    service_plan_id: own.id,
    alert_id: alert.id,
    domain,
    email_id: String(sender.body.metadata.id),
    notification_id: 'password_recovery',
  }
  const named = (name: string) => ({ data: { name: `${name} of ${account.id}` } })
  return {
    ids,
    systemIds: { ...ids, task_id: await makeTask('/v2'), provider_id: shared.id },
    samples: {
      ...Object.fromEntries(
        ['PUT', 'POST', 'PATCH', 'DELETE'].map((method) => [`${method} ${collection}`, collected]),
      ),
      [`PUT ${collection}/activate`]: collected,
      'PUT /v2/cdrs': {
        upload: {
          type: 'application/x-ndjson',
          body: JSON.stringify({
            call_id: `leg of ${account.id}`,
            timestamp: 63_934_785_600,
            custom_channel_vars: { account_id: account.id },
          }),
        },
      },
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
  const writing = server.routes.filter(({ method }) => method !== 'GET')
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
        const isIdle = [demotion, branding, unassignment].includes(name) || isStop(name) || isPlan(name)
        const mayAnswer = name in storesNothing || name in needsMore || isIdle
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
      'src/commands/open-store.ts',
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
    expect(pathsWith(/(INSERT INTO |table\(')(audit_log|outbox)/)).toEqual(['src/storage/change-set.ts'])
  })
})
