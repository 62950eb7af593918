// The log has one line for every refused sign-in or request.
import { expect, it } from 'vitest'
import { basicHeader } from '../support/world/client.ts'
import { credentialsOf, describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('the log of refusals', (engine) => {
  const world = useWorld(engine)

  /** The complete log entries of the refusals during `act`. */
  const linesOf = async (act: () => Promise<unknown>) => {
    world.logEntries.splice(0)
    await act()
    const words = ['sign-in refused', 'access denied', 'account locked']
    return world.logEntries.filter(({ message }) => words.includes(message))
  }

  const line = (message: string, fields: Record<string, unknown>) => ({
    level: 'info',
    message,
    fields: {
      client_address: '127.0.0.1',
      request_id: expect.any(String),
      trace_id: expect.any(String),
      ...fields,
    },
  })

  const refused = (reason: string, fields: Record<string, unknown> = {}) =>
    line('sign-in refused', {
      reason,
      account_id: world.acme.id,
      actor: undefined,
      status: 401,
      method: 'PUT',
      route: '/v2/user_auth',
      ...fields,
    })

  const denied = (reason: string, fields: Record<string, unknown> = {}) =>
    line('access denied', {
      reason,
      account_id: world.acme.id,
      actor: undefined,
      status: 401,
      method: 'GET',
      route: '/v2/accounts/{account_id}',
      ...fields,
    })

  const logIn = (fields: Record<string, unknown>) =>
    world.anonymous.put('/v2/user_auth', {
      credentials: credentialsOf('uli', 'uli-secret'),
      account_realm: world.acme.realm,
      ...fields,
    })

  it('contains why a sign-in was refused, and for which account', async () => {
    const wrong = { credentials: credentialsOf('uli', 'wrong') }
    expect(await linesOf(() => logIn(wrong))).toEqual([refused('wrong user name or password')])
    expect(await linesOf(() => logIn({ ...wrong, account_realm: 'no.where' }))).toEqual([
      refused('there is no such account', { account_id: undefined }),
    ])
    expect(await linesOf(() => logIn({ credentials: 'secret' }))).toEqual([
      refused('the credentials are not a digest', { account_id: undefined }),
    ])
    const key = () => world.anonymous.put('/v2/api_auth', { api_key: 'a'.repeat(64) })
    expect(await linesOf(key)).toEqual([
      refused('unknown API key', { account_id: undefined, status: 404, route: '/v2/api_auth' }),
    ])
  })

  it('contains disabled users and accounts', async () => {
    const account = await world.account()
    await world.user(account, { username: 'dora', password: 'dora-secret', enabled: false })
    const dora = { credentials: credentialsOf('dora', 'dora-secret'), account_realm: account.realm }
    expect(await linesOf(() => logIn(dora))).toEqual([
      refused('the user is disabled', { account_id: account.id }),
    ])
    const ken = await world.user(account, { username: 'ken', password: 'ken-secret' })
    await world.operator.patch(account.path, { enabled: false })
    const asKen = { credentials: credentialsOf('ken', 'ken-secret'), account_realm: account.realm }
    expect(await linesOf(() => logIn(asKen))).toEqual([
      refused('the account is disabled', { account_id: account.id, status: 400 }),
    ])
    expect(await linesOf(() => ken.get(account.path))).toEqual([
      denied('the account is disabled', { account_id: account.id, status: 400 }),
    ])
  })

  it('takes the question after the second factor for no refusal, and a wrong answer for one', async () => {
    const account = await world.account()
    await world.user(account, { username: 'mia', password: 'mia-secret' })
    await world.operator.put(`${account.path}/multi_factor`, {
      name: 'Codes',
      provider_name: 'otp',
      enabled: true,
    })
    const factor = { cb_user_auth: { multi_factor: { enabled: true } } }
    await world.operator.post(`${account.path}/security`, { auth_modules: factor })
    const mia = { credentials: credentialsOf('mia', 'mia-secret'), account_realm: account.realm }
    expect(await linesOf(() => logIn(mia))).toEqual([])
    expect(await linesOf(() => logIn({ ...mia, multi_factor_response: '000000' }))).toEqual([
      refused('wrong second factor', { account_id: account.id }),
    ])
  })

  it('contains the lock of an account, and later sign-ins at it', async () => {
    const account = await world.account()
    const rules = { lock_account_on_failed_attempts: true, failed_attempts_until_lock: 1, lock_s: 60 }
    await world.configure('crossbar.auth', rules)
    const wrong = { account_realm: account.realm }
    expect(await linesOf(() => logIn(wrong))).toEqual([
      {
        level: 'info',
        message: 'account locked',
        fields: {
          client_address: '127.0.0.1',
          account_id: account.id,
          reason: 'too many failed sign-ins',
          seconds: 60,
        },
      },
      refused('wrong user name or password', { account_id: account.id }),
    ])
    expect(await linesOf(() => logIn(wrong))).toEqual([
      refused('the account is locked', { account_id: account.id }),
    ])
    await world.configure('crossbar.auth', { lock_account_on_failed_attempts: false })
  })

  it('contains refused Basic credentials as it contains refused sign-ins', async () => {
    const caller = world.client(basicHeader(world.acme.id, credentialsOf('uli', 'wrong')))
    expect(await linesOf(() => caller.get(world.acme.path))).toEqual([
      refused('wrong Basic credentials', { method: 'GET', route: '/v2/accounts/{account_id}' }),
    ])
  })

  it('contains denials: no credentials, bad credentials, and missing permissions', async () => {
    expect(await linesOf(() => world.anonymous.get(world.acme.path))).toEqual([denied('no credentials')])
    const bad = world.clientWithToken('not.a.token')
    expect(await linesOf(() => bad.get(world.acme.path))).toEqual([denied('invalid credentials')])
    expect(await linesOf(() => world.rex.get(world.acme.path))).toEqual([
      denied('may be called by: account or ancestor', { status: 403, actor: world.rex.id }),
    ])
  })

  it('is silent about what succeeds, and about mistakes', async () => {
    const lines = await linesOf(async () => {
      expect(await logIn({})).toSucceed()
      expect(await world.ada.get(world.acme.path)).toSucceed()
      expect((await world.ada.patch(world.acme.path, { realm: 7 })).status).toBe(400)
      expect((await world.ada.get(`${world.acme.path}/users/${'0'.repeat(32)}`)).status).toBe(404)
    })
    expect(lines).toEqual([])
  })
})
