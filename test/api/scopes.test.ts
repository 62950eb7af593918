// Limits of scopes: those of a user, and those of a sign-in method.
import { expect, it } from 'vitest'
import { allRoutes } from '../../src/commands/openapi.ts'
import { credentialsOf, describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const beyond = { message: 'forbidden', cause: 'access denied by the scope of the token' }

describeAnyEngine('scopes', (engine) => {
  const world = useWorld(engine)
  const holding = (token: unknown) => world.anonymous.with({ 'x-auth-token': String(token) })

  const logIn = (account: TestAccount, username: string) =>
    world.anonymous.put('/v2/user_auth', {
      credentials: credentialsOf(username, 'a-secret'),
      account_realm: account.realm,
    })

  it('of a user limit the tokens of the user, and the sign-in returns them', async () => {
    const account = await world.account(world.reseller)
    const scope_restrictions = ['devices:write', 'users:read']
    await world.admin(account, { username: 'sue', password: 'a-secret', scope_restrictions })
    const login = await logIn(account, 'sue')
    expect(login.data.scope).toBe('devices:write users:read')
    const sue = holding(login.body.auth_token)
    expect((await sue.get('/v2/token_auth')).data.scope).toBe('devices:write users:read')
    expect(await sue.get(`${account.path}/users`)).toSucceed()
    expect(await sue.put(`${account.path}/devices`, { name: 'Phone' })).toSucceed()
    for (const act of [
      () => sue.get(`${account.path}/limits`),
      () => sue.put(`${account.path}/users`, { first_name: 'A', last_name: 'B' }),
      () => sue.put('/v2/auth', {}, { envelope: { action: 'refresh_token' } }),
    ])
      expect(await world.unchanged(act)).toFailWith(403, 'forbidden', beyond)
  })

  it('of a user bind Basic credentials, and hold as they are now', async () => {
    const account = await world.account(world.reseller)
    const tom = await world.user(account, { username: 'tom', password: 'a-secret' })
    const basic = Buffer.from(`${account.id}:${credentialsOf('tom', 'a-secret')}`).toString('base64')
    const callers = [tom, world.anonymous.with({ authorization: `Basic ${basic}` })]
    for (const caller of callers) expect(await caller.get(`${account.path}/limits`)).toSucceed()
    await world.ross.patch(tom.path, { scope_restrictions: ['devices:read'] })
    for (const caller of callers) {
      expect(await caller.get(`${account.path}/limits`)).toFailWith(403, 'forbidden', beyond)
      expect(await caller.get(`${account.path}/devices`)).toSucceed()
    }
    await world.ross.patch(tom.path, { scope_restrictions: [] })
    for (const caller of callers) expect(await caller.get(`${account.path}/limits`)).toSucceed()
  })

  it('of a user are named like those of API keys', async () => {
    const uma = await world.user(world.acme)
    const answer = await world.unchanged(() => world.ada.patch(uma.path, { scope_restrictions: ['devices'] }))
    expect(answer).toBreak({ 'scope_restrictions.0': ['pattern'] })
  })

  it('of a way to sign in bind who signs in that way, together with those of the user', async () => {
    const account = await world.account(world.reseller)
    const scopes = ['devices:read', 'users:write']
    await world.ross.post(`${account.path}/security`, { auth_modules: { cb_user_auth: { scopes } } })
    const scope_restrictions = ['devices:write', 'users:read', 'limits:read']
    await world.user(account, { username: 'ulf', password: 'a-secret' })
    await world.user(account, { username: 'una', password: 'a-secret', scope_restrictions })
    const [ulf, una] = [await logIn(account, 'ulf'), await logIn(account, 'una')]
    expect(ulf.data.scope).toBe('devices:read users:write')
    expect(una.data.scope).toBe('devices:read users:read')
    const caller = holding(una.body.auth_token)
    expect(await caller.get(`${account.path}/devices`)).toSucceed()
    expect(await caller.get(`${account.path}/limits`)).toFailWith(403, 'forbidden', beyond)
    expect(await caller.put(`${account.path}/devices`, { name: 'P' })).toFailWith(403, 'forbidden', beyond)
  })

  it('of API keys apply to the key of the account and named ones, sent or in a session', async () => {
    const account = await world.account(world.reseller)
    const made = await world.ross.put(`${account.path}/api_keys`, { name: 'All', scopes: ['*'] })
    await world.ross.post(`${account.path}/security`, {
      auth_modules: { cb_api_auth: { scopes: ['devices:read'] } },
    })
    const session = await world.anonymous.put('/v2/api_auth', { api_key: made.data.key })
    expect(session.data.scope).toBe('devices:read')
    for (const caller of [
      await world.keyHolder(account),
      world.anonymous.with({ authorization: `Bearer ${made.data.key}` }),
      holding(session.body.auth_token),
    ]) {
      expect(await caller.get(`${account.path}/devices`)).toSucceed()
      expect(await caller.get(`${account.path}/users`)).toFailWith(403, 'forbidden', beyond)
    }
  })

  it('of a way to sign in never lock out the operator', async () => {
    const path = '/v2/system_configs/crossbar.auth'
    await world.operator.patch(path, {
      default: { auth_modules: { cb_user_auth: { scopes: ['devices:read'] } } },
    })
    const operator = holding(await world.tokenOf(world.master, world.operator.id))
    const ada = holding(await world.tokenOf(world.acme, world.ada.id))
    expect(await ada.get(`${world.acme.path}/users`)).toFailWith(403, 'forbidden', beyond)
    expect(await operator.get(`${world.acme.path}/users`)).toSucceed()
    expect(await operator.delete(path)).toSucceed()
  })

  it('let no user give more than they have: no keys, users or scopes beyond their own', async () => {
    const account = await world.account(world.reseller)
    const scope_restrictions = ['users:write', 'api_keys:write', 'security:write']
    const amy = await world.admin(account, { scope_restrictions })
    const uli = await world.user(account, { scope_restrictions: ['users:read'] })
    const broad = await world.user(account)
    const forbidden = { scope_restrictions: ['forbidden'] }
    const named = { first_name: 'A', last_name: 'B' }
    const cases: [() => Promise<unknown>, Record<string, string[]>][] = [
      [() => amy.put(`${account.path}/api_keys`, { name: 'All', scopes: ['*'] }), { scopes: ['forbidden'] }],
      [() => amy.put(`${account.path}/users`, { ...named, email: 'new@acme.test' }), forbidden],
      [
        () => amy.put(`${account.path}/users`, { ...named, username: 'new', password: 'taken-over' }),
        forbidden,
      ],
      [
        () => amy.put(`${account.path}/users`, { ...named, priv_level: 'admin', email: 'new@acme.test' }),
        { priv_level: ['forbidden'], ...forbidden },
      ],
      [() => amy.patch(uli.path, { scope_restrictions: ['*'] }), forbidden],
      [() => amy.patch(amy.path, { scope_restrictions: null }), forbidden],
      [() => amy.patch(broad.path, { password: 'taken-over' }), forbidden],
    ]
    for (const [act, broken] of cases) expect(await world.unchanged(act)).toBreak(broken)
    const narrow = { ...named, scope_restrictions: ['users:read'] }
    expect(await amy.put(`${account.path}/users`, narrow)).toSucceed()
    expect(await amy.put(`${account.path}/api_keys`, { name: 'Few', scopes: ['users:read'] })).toSucceed()
    expect(await amy.patch(broad.path, { timezone: 'Europe/Berlin' })).toSucceed()
    expect(await amy.patch(amy.path, { password: 'new-secret' })).toSucceed()
  })

  it('do not let their holder read or replace the API key, or choose scopes and restrictions for sign-ins', async () => {
    const account = await world.account(world.reseller)
    const below = await world.account(account)
    const scope_restrictions = ['accounts:write', 'security:write', 'token_restrictions:write']
    const amy = await world.admin(account, { scope_restrictions })
    const wide = { auth_modules: { cb_user_auth: { scopes: ['*'] } } }
    for (const { path } of [account, below]) {
      const asks = [
        () => amy.get(`${path}/api_key`),
        () => amy.put(`${path}/api_key`, {}),
        () => amy.post(`${path}/security`, wide),
        () => amy.patch(`${path}/security`, wide),
        () => amy.post(`${path}/token_restrictions`, { restrictions: {} }),
      ]
      for (const ask of asks) expect(await world.refused(ask)).toFailWith(403, 'forbidden', beyond)
    }
    const boss = await world.admin(account)
    expect(await boss.patch(`${account.path}/security`, wide)).toSucceed()
    expect(await world.refused(() => amy.delete(`${account.path}/security`))).toFailWith(
      403,
      'forbidden',
      beyond,
    )
    expect(await boss.put(`${account.path}/api_key`, {})).toSucceed()
    expect(await amy.patch(account.path, { timezone: 'Europe/Berlin' })).toSucceed()
  })
})

it('routes that show an API key or change what sign-ins may do are for callers without scopes', () => {
  const guarded = allRoutes().filter(
    ({ method, path }) =>
      path.endsWith('/api_key') || (method !== 'GET' && /\/(?:security|token_restrictions)$/.test(path)),
  )
  expect(guarded.map(({ method, path, spec }) => `${method} ${path} ${spec.namedKeys}`).sort()).toEqual([
    'DELETE /v2/accounts/{account_id}/security unlimited',
    'DELETE /v2/accounts/{account_id}/token_restrictions unlimited',
    'GET /v2/accounts/{account_id}/api_key unlimited',
    'PATCH /v2/accounts/{account_id}/security unlimited',
    'POST /v2/accounts/{account_id}/security unlimited',
    'POST /v2/accounts/{account_id}/token_restrictions unlimited',
    'PUT /v2/accounts/{account_id}/api_key unlimited',
  ])
})
