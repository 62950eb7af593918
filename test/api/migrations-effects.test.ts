// The repairs of each migration.

import { beforeEach, expect, it } from 'vitest'
import { createUserStore } from '../../src/areas/accounts/users/store.ts'
import { createCdrRebuild } from '../../src/areas/calls/cdrs/rebuild.sql.ts'
import { derive, hashingOfDigest } from '../../src/auth/credentials.ts'
import type { Json } from '../../src/lib/json.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import type { Value } from '../../src/storage/db.ts'
import { eventually } from '../support/run/eventually.ts'
import type { Engine } from '../support/servers/databases.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { createNumberSource, makeNumber, pathOf } from '../support/world/numbers.ts'
import {
  credentialsOf,
  describeEngines,
  type Person,
  quickLayers,
  type TestAccount,
  useWorld,
  type World,
} from '../support/world/world.ts'

const now = { perform_migration: 'now' }

/** Runs a migration and waits for its end. Returns the number of repairs. */
const performed = async (by: Person, account: TestAccount, id: string) => {
  const path = `${account.path}/migrations/${id}`
  const { data: asked } = await by.post(path, now)
  const { data } = await eventually(
    () => by.get(path),
    ({ data: { run } }) => run.id === asked.run.id && run.status === 'finished',
  )
  expect(data).toMatchObject({ performed: true, run: { performed: 1, failed: 0, failures: [] } })
  expect(data.changed).toBe(data.run.changed)
  return Number(data.changed)
}

/** Writes past everything: for damage. */
const damage = ({ server }: World, sql: string, params: readonly Value[]) =>
  server.store.writeUnrecorded([{ sql, params }])

describeEngines('Sign-in keys that are derived again', (engine) => {
  const world = useWorld(engine, ({ configure }) => configure('crossbar.auth', { token_auth_expiry_s: 0 }))
  const id = 'derive_sign_in_secrets'
  let account: TestAccount

  beforeEach(async () => {
    account = await world.account(world.reseller)
  })

  const keysOf = async ({ account: { id: accountId }, id: userId }: Person) =>
    (await world.server.areas.users.get(accountId, userId)).hidden.signInKeys

  /** Gives a user other keys. */
  const rekey = async (person: Person, keys: readonly string[]) => {
    const users = createUserStore(world.server.store)
    const user = await users.get(person.account.id, person.id)
    const set = new ChangeSet({ requestId: 'test' })
    users.replace(set, user, users.revise(user, { hidden: { ...user.hidden, signInKeys: keys } }))
    await world.server.store.commit(set)
  }

  /** A user as earlier versions stored them: with keys of the first layer. */
  const oldUser = async (password: string, fields: Json = {}) => {
    const user = await world.user(account, { password, ...fields })
    const { signInSalt } = (await world.server.areas.accounts.get(account.id)).hidden
    const digests = [
      ['md5', credentialsOf(user.username, password)],
      ['sha', credentialsOf(user.username, password, 'sha1')],
    ] as const
    const keys: string[] = []
    for (const [method, digest] of digests)
      keys.push(derive(hashingOfDigest(signInSalt, method, digest), quickLayers)[0] ?? '')
    expect(keys).toEqual([expect.stringMatching(/^md5:/), expect.stringMatching(/^sha:/)])
    await rekey(user, keys)
    return user
  }

  const logIn = async ({ username }: Person, password: string, method: 'md5' | 'sha' = 'md5') => {
    const credentials = credentialsOf(username, password, method === 'md5' ? 'md5' : 'sha1')
    const data = { credentials, method, account_realm: account.realm }
    return (await world.anonymous.put('/v2/user_auth', data)).status
  }

  const basic = async ({ username }: Person, password: string) => {
    const text = Buffer.from(`${account.id}:${credentialsOf(username, password)}`).toString('base64')
    return (await world.client({ authorization: `Basic ${text}` }).get(`${account.path}/users`)).status
  }

  const expectSignIn = async (user: Person, password: string) => {
    expect(await logIn(user, password)).toBe(201)
    expect(await logIn(user, password, 'sha')).toBe(201)
    expect(await logIn(user, `${password}!`)).toBe(401)
    expect(await basic(user, password)).toBe(200)
    expect(await basic(user, `${password}!`)).toBe(401)
    expect(await user.get(user.path)).toSucceed()
  }

  it('keep every way to sign in open, before and after, and end no session', async () => {
    const user = await oldUser('old-secret', { priv_level: 'admin' })
    await expectSignIn(user, 'old-secret')
    const weak = await keysOf(user)
    expect(await performed(world.ross, account, id)).toBe(1)
    const strong = await keysOf(user)
    expect(strong).toEqual([expect.stringMatching(/^2:md5:/), expect.stringMatching(/^2:sha:/)])
    await expectSignIn(user, 'old-secret')
    // Nothing of the weak keys is left to find.
    const claims = await world.server.store.all(
      "SELECT value FROM claims WHERE account_id = $1 AND name = 'sign_in'",
      [account.id],
    )
    expect(claims.map(({ value }) => value).sort()).toEqual([...strong].sort())
    for (const key of weak) expect(JSON.stringify(claims)).not.toContain(key)
    expect(await performed(world.ross, account, id)).toBe(0)
  })

  it('are what new users have at once', async () => {
    const user = await world.user(account, { password: 'new-secret' })
    expect(await keysOf(user)).toEqual([expect.stringMatching(/^2:md5:/), expect.stringMatching(/^2:sha:/)])
    const digest = credentialsOf('digest.only', 'new-secret')
    const bare = await world.user(account, { username: 'digest.only', credentials: digest })
    expect(await keysOf(bare)).toEqual([expect.stringMatching(/^2:md5:/)])
    expect(await performed(world.ross, account, id)).toBe(0)
  })

  it('are still known as the password that must not come again', async () => {
    await world.configure('auth.password', { should_prevent_reuse: true })
    const user = await oldUser('Same-Secret-1')
    const again = () => world.ross.patch(user.path, { password: 'Same-Secret-1' })
    expect(await world.unchanged(again)).toBreak({ password: ['insecure'] })
    await performed(world.ross, account, id)
    expect(await world.unchanged(again)).toBreak({ password: ['insecure'] })
    expect(await world.ross.patch(user.path, { password: 'Other-Secret-1' })).toSucceed()
    expect(await logIn(user, 'Other-Secret-1')).toBe(201)
    expect(await logIn(user, 'Same-Secret-1')).toBe(401)
    await world.configure('auth.password', { should_prevent_reuse: false })
  })

  it('are derived for accounts of many users in steps', async () => {
    const users = await Promise.all(Array.from({ length: 23 }, () => world.user(account)))
    for (const user of users) await rekey(user, [`md5:${user.id}`])
    expect(await performed(world.ross, account, id)).toBe(23)
    const keys = await Promise.all(users.map(keysOf))
    expect(new Set(keys.flat()).size).toBe(23)
    for (const key of keys.flat()) expect(key).toMatch(/^2:md5:/)
    const marks = await world.server.store.all(
      "SELECT id FROM audit_log WHERE account_id = $1 AND kind = 'migration'",
      [account.id],
    )
    expect(marks).toHaveLength(1)
  })
})

describeEngines('Recounted services', (engine) => {
  const world = useWorld(engine)

  it('have what there is', async () => {
    const account = await world.account(world.reseller)
    await world.device(account)
    const { quantities } = world.server.areas.services
    const before = await quantities.of(account.id)
    const holder = { accountId: account.id, kind: 'test', id: 'x' }
    const wrong = new ChangeSet({ requestId: 'test' })
      .count(account.id, 'devices', 'sip_device', 5)
      .count(account.id, 'users', 'admin', -2)
      .record({ ...holder, action: 'edited' })
    await world.server.store.commit(wrong)
    expect(await quantities.of(account.id)).not.toEqual(before)
    expect(await performed(world.ross, account, 'recount_services')).toBe(2)
    expect(await quantities.of(account.id)).toEqual(before)
  })
})

describeEngines('Numbers put right', (engine) => {
  const world = useWorld(engine)
  const next = createNumberSource()
  let account: TestAccount

  beforeEach(async () => {
    account = await world.account(world.reseller)
  })

  const stored = async (number: string) => {
    const [row] = await world.server.store.all(
      'SELECT account_id, country, classifier, used_by, created, doc FROM numbers WHERE number = $1',
      [number],
    )
    return row
  }

  const counted = async () =>
    (await world.server.areas.services.quantities.of(account.id)).account.phone_numbers ?? {}

  /** Numbers that count: those that the account gave itself do not. */
  const billable = async (number: string) => {
    await makeNumber(world, account, number, { my: 1 })
    await damage(world, 'UPDATE numbers SET hidden = \'{"features":{}}\' WHERE number = $1', [number])
    await performed(world.ross, account, 'recount_services')
  }

  it('are classified by the rules of today, and counted so', async () => {
    const number = next()
    await billable(number)
    expect(await counted()).toEqual({ did_us: 1 })
    await world.configure('number_manager', {
      classifiers: { near: { regex: '^\\+1415' }, far: { regex: '^' } },
    })
    await damage(world, "UPDATE numbers SET country = 'XX' WHERE number = $1", [number])
    expect(await performed(world.ross, account, 'normalise_numbers')).toBe(1)
    expect(await stored(number)).toMatchObject({ classifier: 'near', country: 'US', doc: '{"my":1}' })
    expect(await counted()).toMatchObject({ near: 1 })
    expect((await counted()).did_us ?? 0).toBe(0)
    expect(await performed(world.ross, account, 'normalise_numbers')).toBe(0)
    expect(await performed(world.ross, account, 'recount_services')).toBe(0)
    await world.configure('number_manager', { classifiers: undefined })
  })

  it('are named by the converters of today; one whose new name is taken stays, and is reported', async () => {
    await world.configure('number_manager', { e164_converters: {}, reconcile_regex: '^\\+?\\d{5,15}$' })
    await makeNumber(world, account, '0301234567', { my: 1 })
    await makeNumber(world, account, '0307654321', { my: 2 })
    await makeNumber(world, world.rival, '+49307654321', { my: 3 })
    const before = await stored('0301234567')
    await world.configure('number_manager', { e164_converters: { '^0(\\d{4,})$': { prefix: '+49' } } })
    const path = `${account.path}/migrations/normalise_numbers`
    const answer = await world.ross.post(path, now)
    expect(answer.data).toMatchObject({
      performed_on: [],
      run: {
        failed: 1,
        changed: 1,
        failures: [{ account_id: account.id, message: 'there already under the new form: 0307654321' }],
      },
    })
    expect(await stored('0301234567')).toBeUndefined()
    expect(await stored('+49301234567')).toMatchObject({
      account_id: account.id,
      country: 'DE',
      created: before?.created,
      doc: '{"my":1}',
    })
    expect(await world.ross.get(pathOf(account, '030 1234567'.replace(' ', '')))).toSucceed()
    expect(await stored('0307654321')).toMatchObject({ account_id: account.id })
    expect(await stored('+49307654321')).toMatchObject({ account_id: world.rival.id })
    expect(await performed(world.ross, account, 'recount_services')).toBe(0)
    await world.configure('number_manager', { e164_converters: undefined, reconcile_regex: undefined })
  })

  it('are used by nothing that is gone, however many there are', async () => {
    const numbers = Array.from({ length: 3 }, next)
    for (const number of numbers) await makeNumber(world, account, number)
    await damage(
      world,
      `UPDATE numbers SET used_by = 'mobile', hidden = '{"features":{},"deviceId":"gone"}' WHERE account_id = $1`,
      [account.id],
    )
    expect(await performed(world.ross, account, 'repair_used_by')).toBe(3)
    for (const number of numbers) expect(await stored(number)).toMatchObject({ used_by: '' })
    expect(await performed(world.ross, account, 'repair_used_by')).toBe(0)
  })
})

const hour = 3600
const day = 24 * hour
// 2025-11-01T00:00:00Z
const november = 63_929_174_400

const billed = { account_billing: 'per_minute', rate: 60, rate_minimum: 1, rate_increment: 1 }

/** A world with an account that has calls, a new one for each test. */
const useCalls = (engine: Engine) => {
  const world = useWorld(engine)
  const place = {} as { account: TestAccount }

  beforeEach(async () => {
    place.account = await world.account(world.reseller)
  })

  const leg = (timestamp: number, more: Json = {}) => legOf(place.account, timestamp, more)
  return {
    world,
    place,
    leg,
    send: (...legs: Json[]) => sendLegs(world, legs),
    rebuild: () => performed(world.ross, place.account, 'rebuild_cdr_months'),
    tallies: async () =>
      (
        await world.server.store.all<Json>(
          'SELECT * FROM cdr_tallies WHERE account_id = $1 ORDER BY dimension, seconds, group_value, start',
          [place.account.id],
        )
      ).map((row) => JSON.stringify(row)),
    three: () => [
      leg(november, { duration_seconds: 50, billing_seconds: 40, custom_channel_vars: billed }),
      leg(november + hour, { hangup_cause: 'NORMAL_CLEARING', custom_channel_vars: { owner_id: 'o' } }),
      leg(november + 40 * day, { billing_seconds: 20, custom_channel_vars: billed }),
    ],
  }
}

describeEngines('Rebuilt months of call records', (engine) => {
  const { world, place, leg, send, rebuild, tallies, three } = useCalls(engine)

  it('have the statistics that their records come to', async () => {
    await send(...three())
    const before = await tallies()
    expect(await rebuild()).toBe(0)
    expect(await tallies()).toEqual(before)
    await damage(world, 'UPDATE cdr_tallies SET calls = calls + 7, cost = 1 WHERE account_id = $1', [
      place.account.id,
    ])
    await damage(
      world,
      `INSERT INTO cdr_tallies (account_id, dimension, seconds, group_value, start, calls, answered,
        duration_seconds, billing_seconds, cost) VALUES ($1, 'hangup_cause', 900, 'NOTHING', $2, 1, 1, 1, 1, 1)`,
      [place.account.id, november],
    )
    expect(await rebuild()).toBe(2)
    expect(await tallies()).toEqual(before)
  })

  it('do not change other accounts', async () => {
    await send(...three(), legOf(world.rival, november))
    await damage(world, 'UPDATE cdr_tallies SET calls = 9 WHERE account_id = $1', [world.rival.id])
    await rebuild()
    const rows = await world.server.store.all('SELECT calls FROM cdr_tallies WHERE account_id = $1', [
      world.rival.id,
    ])
    expect(new Set(rows.map(({ calls }) => calls))).toEqual(new Set([9]))
  })

  it('cost what the records say; what was rated here keeps its price', async () => {
    const rated = { ...billed, rate_id: 'us', rate: 61 }
    await send(...three(), leg(november + 2 * hour, { billing_seconds: 30, custom_channel_vars: rated }))
    const costs = () =>
      world.server.store.all<{ cost: number }>(
        `SELECT created, cost, reseller_cost FROM ${world.server.store.cdrs.from([202510, 202511, 202512].filter((month) => known.includes(month)))}
          WHERE account_id = $1 ORDER BY created`,
        [place.account.id],
      )
    const known = await world.server.store.cdrs.months()
    const before = await costs()
    const statistics = await tallies()
    expect(before.map(({ cost }) => cost)).toEqual([40, 0, 30, 20])
    for (const month of known)
      await damage(
        world,
        `UPDATE ${world.server.store.cdrs.tableOf(month)} SET cost = cost + 5, reseller_cost = 3 WHERE account_id = $1`,
        [place.account.id],
      )
    await rebuild()
    expect(await costs()).toEqual(before.map((row) => (row.cost === 30 ? { ...row, cost: 35 } : row)))
    expect(await rebuild()).toBe(0)
    expect(await tallies()).not.toEqual(statistics)
  })

  it('count call records once that arrive during the rebuild', async () => {
    await send(...three())
    const legs = Array.from({ length: 60 }, (_, index) => leg(november + index * hour))
    const sending = Promise.all(legs.map((one) => send(one)))
    for (let round = 0; round < 4; round += 1) await rebuild()
    await sending
    const counted = await tallies()
    expect(await rebuild()).toBe(0)
    expect(await tallies()).toEqual(counted)
    const query = { created_from: november, created_to: nowOf(world), interval: 'month' }
    const { data } = await world.ross.get(`${place.account.path}/cdrs/stats`, { query })
    expect((data as unknown as { calls: number }[]).reduce((sum, { calls }) => sum + calls, 0)).toBe(63)
  })
})

// These tests drop months, so they have a separate world.
describeEngines('Rebuilt months of call records, one of them dropped during the rebuild,', (engine) => {
  const { world, place, send, tallies, three } = useCalls(engine)

  it('lose none of its statistics', async () => {
    await send(...three())
    const { store, areas } = world.server
    const before = await tallies()
    const { sets } = await createCdrRebuild(store)(
      { requestId: 'test' },
      await areas.accounts.get(place.account.id),
    )
    const holder = { accountId: place.account.id, kind: 'test', id: 'x' }
    const dropping = new ChangeSet({ requestId: 'test' }).record({ ...holder, action: 'deleted' })
    store.cdrs.drop(dropping, 202510)
    await store.commit(dropping)
    // A conflict, or in SQLite a missing table: in both cases nothing is stored, and the server plans the
    // change again.
    await expect(store.commit(...sets)).rejects.toThrow()
    expect(await tallies()).toEqual(before)
  })
})

describeEngines('Rebuilt months of call records, one of them dropped before,', (engine) => {
  const { world, place, send, rebuild, tallies, three } = useCalls(engine)

  it('keep their statistics, and so do their neighbours', async () => {
    await send(...three())
    const operations = new ChangeSet({ requestId: 'test' }).record({
      accountId: place.account.id,
      kind: 'test',
      id: 'x',
      action: 'deleted',
    })
    world.server.store.cdrs.drop(operations, 202511)
    await world.server.store.commit(operations)
    const before = await tallies()
    expect(await rebuild()).toBe(0)
    expect(await tallies()).toEqual(before)
  })
})
