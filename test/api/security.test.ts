// How one may sign in to an account, who tried, and the lock.
import { expect, it } from 'vitest'
import { notForCaller } from '../support/matchers/refusals.ts'
import { eventually } from '../support/run/eventually.ts'
import { createFaults } from '../support/servers/faulty-database.ts'
import {
  credentialsOf,
  describeAnyEngine,
  type TestAccount,
  useWorld,
  type World,
} from '../support/world/world.ts'

const invalid = { message: 'invalid credentials' }
const month = 2_678_400

/** An account with an admin who can sign in. */
const placeIn = async (world: World, parent?: TestAccount) => {
  const account = await world.account(parent)
  const admin = await world.admin(account, { username: 'amy', password: 'amy-secret' })
  const logIn = (password = 'amy-secret') =>
    world.anonymous.put('/v2/user_auth', {
      credentials: credentialsOf('amy', password),
      account_realm: account.realm,
    })
  const path = `${account.path}/security`
  const attempts = (count: number) =>
    eventually(
      () => admin.get(`${path}/attempts`),
      ({ data }) => data.length === count,
    )
  return { account, admin, logIn, path, attempts }
}

describeAnyEngine('security settings', (engine) => {
  const world = useWorld(engine)

  const place = (parent?: TestAccount) => placeIn(world, parent)

  const userAuth = (settings: object) => ({ auth_modules: { cb_user_auth: settings } })

  it('lists the ways to sign in', async () => {
    expect(await world.uli.get('/v2/security')).toSucceedWith({
      available_auth_methods: ['cb_user_auth', 'cb_api_auth'],
    })
  })

  it('shows inherited settings while an account has none', async () => {
    const { admin, path } = await place()
    const usual = {
      enabled: true,
      token_auth_expiry_s: 3600,
      log_failed_attempts: true,
      log_successful_attempts: false,
      multi_factor: {},
    }
    const answer = await admin.get(path)
    expect(answer).toSucceedWith({
      account: { auth_modules: {} },
      inherited_config: {
        auth_modules: {
          cb_api_auth: usual,
          cb_user_auth: usual,
        },
      },
    })
    expect(answer.body.metadata).toEqual({
      account: { auth_modules: {} },
      inherited_config: { auth_modules: {} },
    })
    expect(await admin.delete(path)).toFailWith(404, 'bad_identifier')
  })

  it('keeps what is posted, merges what is patched, and forgets what is deleted', async () => {
    const { admin, path } = await place()
    const posted = await admin.post(path, { ...userAuth({ log_successful_attempts: true }), ui_metadata: {} })
    expect(posted).toSucceedWith({
      id: 'configs_crossbar.auth',
      ...userAuth({ log_successful_attempts: true }),
      ui_metadata: {},
    })
    const patched = await admin.patch(path, userAuth({ token_auth_expiry_s: 60 }))
    expect(patched.data).toMatchObject(userAuth({ log_successful_attempts: true, token_auth_expiry_s: 60 }))
    const read = await admin.get(path)
    expect(read.data.account).toEqual(userAuth({ log_successful_attempts: true, token_auth_expiry_s: 60 }))
    expect(await admin.delete(path)).toSucceed()
    expect((await admin.get(path)).data.account).toEqual({ auth_modules: {} })
  })

  it('refuses ways to sign in that do not exist, and second factors from elsewhere', async () => {
    const { admin, path } = await place()
    await world.unchanged(async () => {
      for (const name of ['cb_ip_auth', 'cb_auth', 'cb_conference_auth', 'cb_desktop_auth', 'cb_magic']) {
        const refusal = await admin.post(path, { auth_modules: { [name]: { enabled: true } } })
        expect(refusal).toFailWith(400, 'validation error', {
          [`auth_modules.${name}`]: {
            additionalProperties: {
              message: 'Only properties that the schema defines are allowed',
              target: ['cb_api_auth', 'cb_user_auth'],
              value: { enabled: true },
            },
          },
        })
      }
      expect(await admin.post(path, userAuth({ multi_factor: { other: 1 } }))).toBreak({
        'auth_modules.cb_user_auth.multi_factor.other': ['additionalProperties'],
      })
      expect(await admin.post(path, userAuth({ enabled: 'perhaps' }))).toBreak({
        'auth_modules.cb_user_auth.enabled': ['type'],
      })
      expect(await admin.post(path, userAuth({ multi_factor: { configuration_id: 'abc' } }))).toBreak({
        'auth_modules.cb_user_auth.account_id': ['required'],
      })
      const foreign = { configuration_id: 'abc', account_id: world.rival.id }
      expect(await admin.post(path, userAuth({ multi_factor: foreign }))).toBreak({
        'auth_modules.cb_user_auth.account_id': ['forbidden'],
      })
      const missing = { configuration_id: 'abc', account_id: world.master.id }
      expect(await admin.post(path, userAuth({ multi_factor: missing }))).toBreak({
        'auth_modules.cb_user_auth.configuration_id': ['not_found'],
      })
    })
  })

  it('refuses a second factor for API keys, of which none is asked', async () => {
    const { admin, path } = await place()
    const auth_modules = { cb_api_auth: { multi_factor: { enabled: true } } }
    const rule = {
      invalid: { message: 'API keys cannot answer a second factor', value: true },
    }
    const field = 'auth_modules.cb_api_auth.multi_factor.enabled'
    const settings = '/v2/system_configs/crossbar.auth'
    await world.unchanged(async () => {
      for (const answer of [
        await admin.post(path, { auth_modules }),
        await admin.patch(path, { auth_modules }),
      ])
        expect(answer).toFailWith(400, 'validation error', { [field]: rule })
      const answer = await world.operator.patch(settings, { default: { auth_modules } })
      expect(answer).toFailWith(400, 'validation error', { [`default.${field}`]: rule })
    })
    const off = { auth_modules: { cb_api_auth: { multi_factor: { enabled: false } } } }
    expect(await admin.post(path, off)).toSucceed()
  })

  it('lets ordinary users read, and change nothing', async () => {
    const path = `${world.acme.path}/security`
    expect(await world.uli.get(path)).toSucceed()
    await world.unchanged(async () => {
      for (const answer of [
        await world.uli.post(path, userAuth({ enabled: false })),
        await world.uli.patch(path, userAuth({ enabled: false })),
        await world.uli.delete(path),
        await world.uli.get(`${path}/attempts`),
        await world.rex.get(path),
        await world.rex.post(path, {}),
      ]) {
        expect(answer).toFailWith(403, 'forbidden', notForCaller)
      }
    })
  })

  it('closes a way to sign in', async () => {
    const { account, admin, logIn, path } = await place()
    expect(await logIn()).toSucceed()
    await admin.post(path, {
      auth_modules: { cb_user_auth: { enabled: false }, cb_api_auth: { enabled: false } },
    })
    expect(await logIn()).toFailWith(401, 'invalid_credentials', invalid)
    const { api_key } = (await admin.get(`${account.path}/api_key`)).data
    expect(await world.anonymous.put('/v2/api_auth', { api_key })).toFailWith(
      401,
      'invalid_credentials',
      invalid,
    )
    await admin.delete(path)
    expect(await logIn()).toSucceed()
  })

  it('hands settings down to the accounts below, up to the next reseller', async () => {
    const above = await place()
    const below = await place(above.account)
    await above.admin.post(above.path, userAuth({ enabled: false }))
    expect(await below.logIn()).toFailWith(401, 'invalid_credentials', invalid)
    await below.admin.post(below.path, userAuth({ enabled: true }))
    expect(await below.logIn()).toSucceed()
    await below.admin.delete(below.path)
    await world.operator.put(`${above.account.path}/reseller`, {})
    const { data } = await below.admin.get(below.path)
    expect(data.inherited_config.auth_modules.cb_user_auth.enabled).toBe(false)
  })

  it('says how long a token lives', async () => {
    const { admin, logIn, path } = await place()
    await admin.post(path, userAuth({ token_auth_expiry_s: 60 }))
    const token = (await logIn()).body.auth_token ?? ''
    expect(await world.clientWithToken(token).get('/v2/token_auth')).toSucceed()
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    expect(claims.exp - claims.iat).toBe(60)
    await admin.post(path, userAuth({ token_auth_expiry_s: 0 }))
    const endless = (await logIn()).body.auth_token ?? ''
    expect(JSON.parse(Buffer.from(endless.split('.')[1] ?? '', 'base64url').toString())).not.toHaveProperty(
      'exp',
    )
  })

  it('keeps refused attempts, and good ones where that is asked for', async () => {
    const { account, admin, logIn, path, attempts } = await place()
    expect(await logIn()).toSucceed()
    expect(await logIn('wrong')).toFailWith(401, 'invalid_credentials', invalid)
    const listed = await attempts(1)
    const [row] = listed.data
    expect(row).toEqual({
      id: expect.stringMatching(/^202601-[0-9a-f]{32}$/),
      auth_type: 'user_auth',
      auth_module: 'cb_user_auth',
      status: 'failed',
      message: 'invalid credentials',
      client_ip: '127.0.0.1',
      client_headers: { host: expect.stringContaining('127.0.0.1') },
      crossbar_request_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      timestamp: expect.any(Number),
      metadata: { account_id: account.id },
    })
    expect(await admin.get(`${path}/attempts/${row.id}`)).toSucceedWith(row)
    await admin.post(path, userAuth({ log_failed_attempts: false, log_successful_attempts: true }))
    await logIn('wrong')
    world.clock.advance({ seconds: 1 })
    await logIn()
    const [newest] = (await attempts(2)).data
    expect(newest).toMatchObject({ status: 'success', message: 'signed in' })
    expect(await admin.get(`${path}/attempts/202601-${'0'.repeat(32)}`)).toFailWith(404, 'bad_identifier')
    expect(await admin.get(`${world.acme.path}/security/attempts/${row.id}`)).toFailWith(403, 'forbidden')
  })

  it('keeps refused attempts with API keys, where that is not switched off', async () => {
    const { account, admin, path, attempts } = await place()
    const { data: key } = await admin.put(`${account.path}/api_keys`, {
      name: 'Elsewhere',
      scopes: ['*'],
      networks: ['192.0.2.1'],
    })
    const knock = () => world.anonymous.put('/v2/api_auth', { api_key: key.key })
    expect(await knock()).toFailWith(401, 'invalid_credentials', invalid)
    const [row] = (await attempts(1)).data
    expect(row).toEqual({
      id: expect.any(String),
      auth_type: 'api_auth',
      auth_module: 'cb_api_auth',
      status: 'failed',
      message: 'the API key is not valid from this network',
      client_ip: '127.0.0.1',
      client_headers: { host: expect.stringContaining('127.0.0.1') },
      crossbar_request_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      timestamp: expect.any(Number),
      metadata: { account_id: account.id },
    })
    await admin.post(path, { auth_modules: { cb_api_auth: { enabled: false } } })
    await admin.patch(`${account.path}/api_keys/${key.id}`, { networks: null })
    await knock()
    await attempts(2)
    await admin.patch(path, { auth_modules: { cb_api_auth: { log_failed_attempts: false } } })
    await knock()
    await admin.post(path, { auth_modules: { cb_api_auth: { log_successful_attempts: true } } })
    expect(await knock()).toSucceed()
    const messages = (await attempts(3)).data.map(({ message }: { message: string }) => message)
    expect(messages.sort()).toEqual([
      'signed in',
      'the API key is not valid from this network',
      'this sign-in method is disabled',
    ])
  })

  it('locks an account after too many failures, where that is asked for', async () => {
    await world.configure('crossbar.auth', {
      lock_account_on_failed_attempts: true,
      failed_attempts_until_lock: 2,
      lock_s: 60,
    })
    const { admin, logIn, path } = await place()
    const { operator } = world
    const lock = `${path}/login_lock`
    expect(await operator.get(lock)).toSucceedWith({ status: 'account is not locked' })
    await logIn('wrong')
    expect(await logIn()).toSucceed()
    await logIn('wrong')
    await logIn('wrong')
    expect(await logIn()).toFailWith(401, 'account_is_locked', { message: 'account is locked' })
    expect(await operator.get(lock)).toSucceedWith({ status: 'account is locked' })
    expect(await operator.delete(lock)).toSucceedWith({ status: 'account is unlocked' })
    expect(await operator.delete(lock)).toSucceedWith({ status: 'account was not locked' })
    expect(await logIn()).toSucceed()
    await logIn('wrong')
    await logIn('wrong')
    world.clock.advance({ seconds: 60 })
    expect(await logIn()).toSucceed()
    expect(await admin.get(lock)).toFailWith(403, 'forbidden', notForCaller)
    expect(await admin.delete(lock)).toFailWith(403, 'forbidden', notForCaller)
    await world.configure('crossbar.auth', { lock_account_on_failed_attempts: false })
  })
})

describeAnyEngine('the lock of an account', (engine) => {
  const faults = createFaults()
  const world = useWorld(engine, undefined, undefined, { over: faults.over })

  it('is not bypassed if a failure cannot be counted: a wrong password is answered with 503', async () => {
    await world.configure('crossbar.auth', {
      lock_account_on_failed_attempts: true,
      failed_attempts_until_lock: 2,
      lock_s: 60,
    })
    const { logIn } = await placeIn(world)
    faults.state.onWrite = (write) => (JSON.stringify(write).includes('login_lock') ? 'refused' : undefined)
    expect(await world.unchanged(() => logIn('wrong'))).toFailWith(503, 'datastore_unreachable', {
      message: 'datastore unreachable',
    })
    faults.mend()
    expect(await logIn()).toSucceed()
    world.takeErrors()
  })
})

// This test advances the clock by days: tokens of a shared world would expire.
describeAnyEngine('attempts to sign in', (engine) => {
  const world = useWorld(engine)

  it('pages through attempts within a window of time', async () => {
    const { account, admin: own, logIn, path, attempts } = await placeIn(world)
    for (let count = 1; count <= 3; count += 1) await logIn('wrong')
    await attempts(3)
    world.clock.advance({ hours: 24 * 10 })
    await logIn('wrong')
    const admin = world.clientWithToken(await world.tokenOf(account, own.id))
    const list = (query: Record<string, string | number>) => admin.get(`${path}/attempts`, { query })
    const { data: all }: { data: { id: string; timestamp: number }[] } = await eventually(
      () => list({}),
      ({ data }) => data.length === 4,
    )
    expect(all.map(({ timestamp }) => timestamp)).toEqual(
      all.map(({ timestamp }) => timestamp).sort((a, b) => b - a),
    )
    const pages: string[] = []
    let startKey: string | undefined = ''
    while (startKey !== undefined) {
      const { body } = await list({ page_size: 2, ...(startKey ? { start_key: startKey } : {}) })
      pages.push(...body.data.map(({ id }: { id: string }) => id))
      startKey = body.next_start_key
    }
    expect(pages).toEqual(all.map(({ id }) => id))
    const newest = all[0]?.timestamp as number
    const oldest = all[3]?.timestamp as number
    expect((await list({ created_from: newest })).data).toHaveLength(1)
    expect((await list({ created_from: oldest, created_to: oldest })).data).toHaveLength(3)
    expect((await list({ created_to: oldest - 1 })).data).toEqual([])
    expect((await list({ ascending: 'true' })).data.map(({ id }: { id: string }) => id)).toEqual(
      all.map(({ id }) => id).reverse(),
    )
    const outside = Buffer.from(JSON.stringify(['999999999999999', ''])).toString('base64url')
    expect((await list({ created_to: oldest - 1, start_key: outside })).data).toEqual([])
    expect(await list({ created_from: newest, created_to: oldest })).toBreak({ created_from: ['date_range'] })
    expect(await list({ created_from: newest - 2 * month })).toBreak({ created_from: ['date_range'] })
    expect(await list({ created_from: 'yesterday' })).toBreak({ created_from: ['type'] })
  })
})
