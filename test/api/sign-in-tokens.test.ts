// The content of a token, and how it is read, renewed and ended.
import { createHmac } from 'node:crypto'
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { credentialsOf, describeAnyEngine, useWorld } from '../support/world/world.ts'

const startUnix = Date.UTC(2026, 0, 5, 12) / 1000
const dead = [401, 'invalid_credentials', { message: 'invalid credentials' }] as const

const partsOf = (token: string) => token.split('.') as [string, string, string]
const decoded = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Json
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

describeAnyEngine('tokens', (engine) => {
  const world = useWorld(engine)

  const signIn = async (name: string) => {
    const credentials = credentialsOf(name, `${name}-secret`)
    const answer = await world.anonymous.put('/v2/user_auth', { credentials, account_name: 'acme' })
    return String(answer.body.auth_token)
  }

  it('are signed, and say whose they are', async () => {
    const [header, payload] = partsOf(await signIn('ada'))
    expect(decoded(header)).toEqual({
      alg: 'RS256',
      typ: 'JWT',
      kid: expect.stringMatching(/^[0-9a-f]{32}$/),
    })
    expect(decoded(payload)).toEqual({
      iss: 'kazoo',
      iat: startUnix,
      exp: startUnix + 3600,
      jti: expect.any(String),
      account_id: world.acme.id,
      owner_id: world.ada.id,
      method: 'cb_user_auth',
      identity_sig: expect.any(String),
    })
  })

  it('of an API key say nothing of a user', async () => {
    const { api_key } = (await world.ada.get(`${world.acme.path}/api_key`)).data
    const answer = await world.anonymous.put('/v2/api_auth', { api_key })
    const payload = decoded(partsOf(String(answer.body.auth_token))[1])
    expect(payload).toMatchObject({ account_id: world.acme.id, method: 'cb_api_auth' })
    expect(payload).not.toHaveProperty('owner_id')
  })

  it('are refused when anything in them was changed', async () => {
    const [header, payload, signature] = partsOf(world.uli.token)
    const claims = decoded(payload)
    const flipped = `${signature.slice(0, 10)}${signature[10] === 'A' ? 'B' : 'A'}${signature.slice(11)}`
    const head = decoded(header)
    const hmacHead = encoded({ ...head, alg: 'HS256' })
    const keys = await world.operator.get('/v2/auth/keys')
    const pem = String((await world.operator.get(`/v2/auth/keys/${keys.data[0]?.id}`)).data.public_key_pem)
    const hmac = createHmac('sha256', pem).update(`${hmacHead}.${payload}`).digest('base64url')
    const forged = [
      `${header}.${encoded({ ...claims, account_id: world.rival.id })}.${signature}`,
      `${header}.${encoded({ ...claims, owner_id: world.ada.id })}.${signature}`,
      `${header}.${encoded({ ...claims, exp: startUnix + 1e9 })}.${signature}`,
      `${header}.${payload}.${flipped}`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${encoded({ ...head, alg: 'none' })}.${payload}.`,
      `${hmacHead}.${payload}.${hmac}`,
      `${encoded({ ...head, kid: 'nosuch' })}.${payload}.${signature}`,
      `${encoded({ alg: 'RS256' })}.${payload}.${signature}`,
      '..',
      'a.b.c',
      'x'.repeat(3000),
    ]
    for (const token of forged) {
      expect(await world.clientWithToken(token).get(world.uli.path)).toFailWith(...dead)
      expect(await world.client({ authorization: `Bearer ${token}` }).get(world.uli.path)).toFailWith(...dead)
    }
  })

  it('expire', async () => {
    const client = world.clientWithToken(await world.tokenOf(world.acme, world.uli.id))
    world.clock.advance({ minutes: 59, seconds: 59 })
    expect(await client.get(world.uli.path)).toSucceed()
    world.clock.advance({ seconds: 1 })
    expect(await client.get(world.uli.path)).toFailWith(...dead)
    expect(await client.get('/v2/token_auth')).toFailWith(...dead)
    world.clock.advance({ hours: -1 })
  })

  it('live as long as the operator says, or for ever', async () => {
    await world.configure('crossbar.auth', { token_auth_expiry_s: 10 })
    const brief = world.clientWithToken(await signIn('uli'))
    await world.configure('crossbar.auth', { token_auth_expiry_s: 0 })
    const eternal = await signIn('uli')
    expect(decoded(partsOf(eternal)[1])).not.toHaveProperty('exp')
    world.clock.advance({ seconds: 11 })
    expect(await brief.get(world.uli.path)).toFailWith(...dead)
    world.clock.advance({ hours: 24 * 365 })
    expect(await world.clientWithToken(eternal).get(world.uli.path)).toSucceed()
    world.clock.advance({ hours: -24 * 365, seconds: -11 })
    await world.configure('crossbar.auth', { token_auth_expiry_s: 3600 })
  })

  it('can be read by their holders', async () => {
    const token = await signIn('uli')
    const client = world.clientWithToken(token)
    const expected = {
      account_id: world.acme.id,
      account_name: 'Acme',
      account_realm: 'acme.test',
      owner_id: world.uli.id,
      reseller_id: world.reseller.id,
      is_reseller: false,
      is_master_account: false,
      language: 'en-US',
      apps: [],
      capabilities: {},
      ui_config: {},
      user_info: expect.objectContaining({ username: 'uli', full_name: 'Uli User' }),
    }
    expect(await client.get('/v2/token_auth')).toSucceedWith(expected)
    expect(await client.get(`/v2/user_auth/${token}`)).toSucceedWith(expected)
    expect(await world.anonymous.get('/v2/auth/tokeninfo', { query: { token } })).toSucceedWith(expected)
    expect(await world.anonymous.post('/v2/auth/tokeninfo', { token })).toSucceedWith(expected)
  })

  it('are not read by others', async () => {
    const answer = await world.rex.get(`/v2/user_auth/${world.uli.token}`)
    expect(answer.status).toBe(401)
    expect(JSON.stringify(answer.data)).not.toContain(world.uli.id)
    expect(await world.anonymous.get('/v2/token_auth')).toFailWith(401, 'invalid_credentials')
  })

  it('to be inspected must be given, and be good', async () => {
    const inPath = (query: Record<string, string>) => world.anonymous.get('/v2/auth/tokeninfo', { query })
    expect(await inPath({})).toFailWith(404, 'missing token in params')
    expect(await inPath({ token: '' })).toFailWith(404, 'missing token in params')
    expect(await world.anonymous.post('/v2/auth/tokeninfo', {})).toFailWith(404, 'missing token in request')
    expect((await inPath({ token: 'lol' })).status).toBe(401)
    expect((await world.anonymous.post('/v2/auth/tokeninfo', { token: 'lol' })).status).toBe(401)
  })

  it('end at log-out: this one, at once, and no other', async () => {
    const [first, second] = [await signIn('uli'), await signIn('uli')].map((token) =>
      world.clientWithToken(token),
    )
    expect(await first?.delete('/v2/token_auth')).toSucceedWith({})
    expect(await first?.get(world.uli.path)).toFailWith(...dead)
    expect(await first?.delete('/v2/token_auth')).toFailWith(...dead)
    expect(await second?.get(world.uli.path)).toSucceed()
  })

  it('can be renewed, unless the operator forbids it', async () => {
    const renew = (client = world.uli as { put: typeof world.uli.put }) =>
      client.put('/v2/auth', {}, { envelope: { action: 'refresh_token' } })
    world.clock.advance({ minutes: 30 })
    const answer = await renew()
    expect(answer).toSucceed()
    expect(answer.data).toMatchObject({ owner_id: world.uli.id })
    const token = String(answer.body.auth_token)
    expect(decoded(partsOf(token)[1])).toMatchObject({ exp: startUnix + 1800 + 3600, method: 'cb_user_auth' })
    expect(await world.clientWithToken(token).get(world.uli.path)).toSucceed()
    await world.configure('crossbar.auth', { renew: false })
    expect(await renew()).toFailWith(405, 'cb_user_auth not allowed to renew')
    expect(await renew(world.acmeKey)).toFailWith(405, 'cb_api_auth not allowed to renew')
    await world.configure('crossbar.auth', { renew: true })
    const authorization = `Basic ${Buffer.from(`${world.acme.id}:${credentialsOf('uli', 'uli-secret')}`).toString('base64')}`
    expect(await renew(world.client({ authorization }))).toFailWith(412, 'invalid token for renew')
    world.clock.advance({ minutes: -30 })
  })
})

describeAnyEngine('a reset of signature secrets', (engine) => {
  const world = useWorld(engine)
  const envelope = { action: 'reset_signature_secret' }
  const reset = (client: { put: typeof world.ada.put }, path: string) =>
    client.put(`${path}/auth`, {}, { envelope })

  it('ends the tokens of that user only', async () => {
    const user = await world.user(world.acme)
    const other = await world.user(world.acme)
    const { revision } = (await world.ada.get(user.path)).body
    expect(await reset(user, user.path)).toSucceedWith({})
    expect(await user.get(user.path)).toFailWith(...dead)
    expect(await other.get(other.path)).toSucceed()
    expect((await world.ada.get(user.path)).body.revision).not.toBe(revision)
    const fresh = world.clientWithToken(await world.tokenOf(world.acme, user.id))
    expect(await fresh.get(user.path)).toSucceed()
    expect(await reset(world.ada, user.path)).toSucceed()
    expect(await fresh.get(user.path)).toFailWith(...dead)
  })

  it('of a user is for the user and for admins', async () => {
    for (const client of [world.uli, world.rex, world.acmeKey])
      expect(await world.unchanged(() => reset(client, world.ada.path))).toFailWith(403, 'forbidden')
    expect(
      await world.unchanged(() => reset(world.ada, `${world.acme.path}/users/${world.rex.id}`)),
    ).toFailWith(404, 'bad_identifier')
  })

  it('ends the tokens of an account, those of API keys too', async () => {
    const account = await world.account(world.acme)
    const [admin, key] = [await world.admin(account), await world.keyHolder(account)]
    const refused = [await world.user(account), world.rex, key]
    for (const client of refused)
      expect(await world.unchanged(() => reset(client, account.path))).toFailWith(403, 'forbidden')
    expect(await reset(admin, account.path)).toSucceedWith({})
    for (const client of [admin, key]) expect(await client.get(account.path)).toFailWith(...dead)
    expect(await world.ada.get(account.path)).toSucceed()
    const fresh = world.clientWithToken(await world.tokenOf(account, admin.id))
    expect(await fresh.get(account.path)).toSucceed()
  })

  it('wants an action that the path knows', async () => {
    for (const path of [world.uli.path, world.acme.path, '/v2']) {
      const none = await world.unchanged(() => world.operator.put(`${path}/auth`, {}))
      expect(none).toFailWith(400, 'action required', {})
      const other = { envelope: { action: 'dance' } }
      expect(await world.unchanged(() => world.operator.put(`${path}/auth`, {}, other))).toFailWith(
        400,
        'invalid action',
        {},
      )
    }
  })
})

// It ends the tokens of every user in its world.
describeAnyEngine('a reset of the signature secret of the system', (engine) => {
  const world = useWorld(engine)
  const reset = (client: { put: typeof world.ada.put }, path: string) =>
    client.put(`${path}/auth`, {}, { envelope: { action: 'reset_signature_secret' } })

  it('ends all tokens of the system, for the operator', async () => {
    for (const client of [world.ada, world.ross, world.acmeKey])
      expect(await world.unchanged(() => reset(client, '/v2'))).toFailWith(403, 'forbidden')
    expect(await reset(world.operator, '/v2')).toSucceedWith({})
    for (const client of [world.operator, world.ross, world.ada, world.uli, world.rex, world.acmeKey])
      expect(await client.get(world.acme.path)).toFailWith(...dead)
    const fresh = world.clientWithToken(await world.tokenOf(world.acme, world.ada.id))
    expect(await fresh.get(world.acme.path)).toSucceed()
  })
})
