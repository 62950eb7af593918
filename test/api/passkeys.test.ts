// Passkeys: registered by their users, and taken alone or as the second factor.
import { expect, it } from 'vitest'
import { type Authenticator, createAuthenticator } from '../support/world/authenticator.ts'
import type { Client } from '../support/world/client.ts'
import { credentialsOf, describeEngines, type Person, useWorld } from '../support/world/world.ts'

describeEngines('passkeys', (engine) => {
  const world = useWorld(engine, async ({ configure }) => {
    await configure('crossbar.auth', { token_auth_expiry_s: 0 })
  })

  const at = (host: string) => ({ headers: { host } })
  const here = at('localhost')
  const alone = '/v2/multi_factor/passkeys'

  const optionsFor = async (user: Person, client: Client = user) =>
    (await client.put(`${user.path}/passkeys/options`, {}, here)).data

  const register = async (user: Person, key: Authenticator = createAuthenticator(), name = 'A key') => {
    const credential = key.create(await optionsFor(user))
    const made = await user.put(`${user.path}/passkeys`, { name, credential }, here)
    expect(made, made.text).toSucceed()
    return { key, made, path: `${user.path}/passkeys/${made.data.id}` }
  }

  const asked = async (host = 'localhost') =>
    (await world.anonymous.put(`${alone}/options`, {}, at(host))).data

  const signIn = (credential: object, host = 'localhost') =>
    world.anonymous.put(alone, { credential }, at(host))

  const person = async (fields = {}) => {
    const account = await world.account(world.reseller)
    return world.user(account, { username: 'ann', password: 'ann-secret', ...fields })
  }

  it('are registered, listed, renamed and forgotten by their user, or by an admin', async () => {
    const user = await person()
    const admin = await world.admin(user.account)
    const options = await optionsFor(user)
    expect(options.public_key).toMatchObject({
      rp: { id: 'localhost', name: 'Crosspoint' },
      user: { name: 'ann', displayName: 'Some Body' },
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'preferred' },
      excludeCredentials: [],
    })
    const { key, made, path } = await register(user)
    const shown = { id: made.data.id, name: 'A key', rp_id: 'localhost', backed_up: false }
    expect(made.data).toEqual({ ...shown, owner_id: user.id })
    await register(user, createAuthenticator(), 'Another')
    const rows = (await admin.get(`${user.path}/passkeys`)).data
    expect(rows.map(({ name }: { name: string }) => name).sort()).toEqual(['A key', 'Another'])
    expect((await optionsFor(user)).public_key.excludeCredentials).toContainEqual(
      expect.objectContaining({ id: key.id }),
    )
    expect((await user.patch(path, { name: 'Mine' })).data).toMatchObject({ ...shown, name: 'Mine' })
    const other = await world.user(user.account)
    for (const ask of [
      () => other.get(`${user.path}/passkeys`),
      () => other.delete(path),
      () => admin.put(`${user.path}/passkeys/options`, {}, here),
      () => world.acmeKey.delete(path),
    ])
      expect(await world.unchanged(ask)).toFailWith(403, 'forbidden')
    const elsewhere = path.replace(user.id, other.id)
    expect((await admin.get(elsewhere)).status).toBe(404)
    expect(await admin.delete(path)).toSucceed()
    expect((await signIn(key.get(await asked()))).status).toBe(401)
  })

  it('cannot be registered by a caller who acts as the user', async () => {
    const user = await person()
    const acting = await world.operator.put(
      `${user.path}/user_auth`,
      {},
      {
        envelope: { action: 'impersonate_user' },
      },
    )
    const client = world.clientWithToken(acting.body.auth_token as string)
    expect((await client.get('/v2/token_auth')).data.owner_id).toBe(user.id)
    expect((await client.put(`${user.path}/passkeys/options`, {}, here)).status).toBe(403)
  })

  it('sign in alone, as both factors, without a name being said', async () => {
    const user = await person()
    const { key, path } = await register(user)
    const options = await asked()
    expect(options.public_key).toMatchObject({ rpId: 'localhost', userVerification: 'required' })
    expect(options.public_key.allowCredentials).toBeUndefined()
    const session = await signIn(key.get(options))
    expect(session.status).toBe(201)
    expect(session.headers['cache-control']).toContain('no-store')
    expect(session.data).toMatchObject({ account_id: user.account.id, owner_id: user.id })
    const client = world.clientWithToken(session.body.auth_token as string)
    expect((await client.get('/v2/token_auth')).data).toMatchObject({ mfa_resp: true, owner_id: user.id })
    expect((await user.get(path)).data.last_used).toBe(Math.floor(world.clock.now() / 1000) + 62_167_219_200)
  })

  it('are refused with a challenge that was answered, is too old, or was for something else', async () => {
    const user = await person()
    const { key } = await register(user)
    const refused = async (credential: object) =>
      expect(await world.unchanged(() => signIn(credential))).toFailWith(401, 'invalid_credentials')
    const options = await asked()
    const credential = key.get(options)
    expect((await signIn(credential)).status).toBe(201)
    await refused(credential)
    await refused(key.get(options))
    // The same bytes in another spelling are the same challenge.
    const spelled = `${options.public_key.challenge}=`
    await refused(key.get(options, { challenge: spelled }))
    const other = await register(await person({ username: 'bob' }))
    await refused(other.key.get(options))
    await refused(key.get(await optionsFor(user), { rpId: 'localhost' }))
    const late = await asked()
    world.clock.advance({ seconds: 301 })
    await refused(key.get(late))
    await refused(key.get(await asked(), { challenge: 'bWFkZS11cA' }))
    expect((await signIn(key.get(await asked()))).status).toBe(201)
    expect(await world.server.store.all('SELECT challenge FROM passkey_challenges')).toHaveLength(1)
  })

  it('are refused when anything about the answer is wrong', async () => {
    const user = await person()
    const { key } = await register(user)
    const wrong = [
      { forged: true },
      { origin: 'https://evil.example' },
      { rpId: 'evil.example' },
      { verifies: false },
      { crossOrigin: true },
      { userHandle: Buffer.alloc(32).toString('base64url') },
    ]
    for (const answered of wrong) {
      const credential = key.get(await asked(), answered)
      const answer = await world.unchanged(() => signIn(credential))
      expect(answer, JSON.stringify(answered)).toFailWith(401, 'invalid_credentials')
    }
    expect((await signIn(createAuthenticator().get(await asked()))).status).toBe(401)
    expect((await signIn(key.get(await asked()))).status).toBe(201)
    key.rewind(0)
    expect((await signIn(key.get(await asked(), { counts: false }))).status).toBe(401)
    key.rewind(20)
    expect((await signIn(key.get(await asked()))).status).toBe(201)
    expect(await world.unchanged(() => signIn({ ...key.get(options()), type: 'password' }))).toBreak({
      'credential.type': ['enum'],
    })
  })

  const options = () => ({ public_key: { challenge: 'AA', rpId: 'localhost' } })

  it('are not registered with answers that are wrong, nor twice', async () => {
    const user = await person()
    const other = await person({ username: 'bob' })
    const key = createAuthenticator()
    const put = (by: Person, credential: object) =>
      by.put(`${by.path}/passkeys`, { name: 'A key', credential }, here)
    const good = await optionsFor(user)
    for (const answered of [
      { origin: 'https://evil.example' },
      { rpId: 'evil.example' },
      { crossOrigin: true },
      { challenge: 'bWFkZS11cA' },
      { format: 'fido-u2f' },
      { format: 'tpm' },
    ]) {
      const answer = await world.unchanged(() => put(user, key.create(good, answered)))
      expect(answer, JSON.stringify(answered)).toBreak({ credential: ['invalid'] })
    }
    expect(await world.unchanged(() => put(other, key.create(good)))).toBreak({ credential: ['invalid'] })
    const foreign = {
      ...good,
      public_key: { ...good.public_key, challenge: (await asked()).public_key.challenge },
    }
    expect(await world.unchanged(() => put(user, key.create(foreign)))).toBreak({ credential: ['invalid'] })
    expect(await put(user, key.create(good))).toSucceed()
    const again = await put(user, createAuthenticator().create(good))
    expect(again).toBreak({ credential: ['invalid'] })
    const taken = key.create(await optionsFor(other))
    expect(await world.unchanged(() => put(other, taken))).toBreak({ credential: ['unique'] })
    await world.configure('passkeys', { most_per_user: 1 })
    const full = await user.put(`${user.path}/passkeys/options`, {}, here)
    await world.configure('passkeys', { most_per_user: 20 })
    expect(full).toBreak({ passkeys: ['maxItems'] })
  })

  it('belong to a host that the operator has configured, whatever Host header a request has', async () => {
    const user = await person()
    const unknown = await world.anonymous.put(`${alone}/options`, {}, at('evil.example'))
    expect(unknown).toFailWith(unknown.status, 'not_configured')
    expect(unknown.text).toContain('hosts and rp_id of the settings passkeys')
    await world.configure('passkeys', { hosts: ['console.example.com'] })
    const where = at('console.example.com:8443')
    const key = createAuthenticator('https://console.example.com:8443')
    const made = await user.put(`${user.path}/passkeys/options`, {}, where)
    expect(made.data.public_key.rp.id).toBe('console.example.com')
    const credential = key.create(made.data)
    const put = (place: typeof here) =>
      user.put(`${user.path}/passkeys`, { name: 'A key', credential }, place)
    expect((await put(here)).status).toBe(400)
    expect(await put(where)).toSucceed()
    expect((await signIn(key.get(await asked('console.example.com:8443')), 'localhost')).status).toBe(401)
    const good = key.get(await asked('console.example.com:8443'))
    expect((await signIn(good, 'console.example.com:8443')).status).toBe(201)
    await world.configure('passkeys', { rp_id: 'example.com', origins: ['https://a.example.com'] })
    expect((await asked('evil.example')).public_key.rpId).toBe('example.com')
    const wide = createAuthenticator('https://a.example.com')
    const options = (await user.put(`${user.path}/passkeys/options`, {}, at('b.example.com'))).data
    const data = { name: 'Wide', credential: wide.create(options) }
    expect(await user.put(`${user.path}/passkeys`, data, at('b.example.com'))).toSucceed()
    expect((await signIn(wide.get(await asked('c.example.com')), 'c.example.com')).status).toBe(201)
    await world.configure('passkeys', { rp_id: undefined, origins: [], hosts: [] })
  })

  it('are accepted as the second factor besides codes; a password alone chooses no other factor', async () => {
    const user = await person({ priv_level: 'admin' })
    const { account } = user
    const { key } = await register(user)
    const multi_factor = { enabled: true }
    await user.post(`${account.path}/security`, { auth_modules: { cb_user_auth: { multi_factor } } })
    const data = { credentials: credentialsOf('ann', 'ann-secret'), account_realm: account.realm }
    const logIn = (response?: object | string) => {
      const given = typeof response === 'object' ? JSON.stringify(response) : response
      const factor = given === undefined ? {} : { multi_factor_response: given }
      return world.anonymous.put('/v2/user_auth', { ...data, ...factor }, here)
    }
    const challenged = await logIn()
    expect(challenged).toFailWith(401, 'invalid_credentials')
    const { passkey, ...rest } = challenged.data.multi_factor_request
    expect(rest).toEqual({ provider_name: 'otp', enrolled: false })
    expect(passkey.public_key).toMatchObject({
      rpId: 'localhost',
      userVerification: 'preferred',
      allowCredentials: [{ id: key.id, type: 'public-key', transports: ['internal'] }],
    })
    const given = key.get(passkey, { verifies: false })
    const session = await logIn(given)
    expect(session.status).toBe(201)
    const client = world.clientWithToken(session.body.auth_token as string)
    expect((await client.get('/v2/token_auth')).data.mfa_resp).toBe(true)
    const fresh = (await logIn()).data.multi_factor_request.passkey
    const other = await register(await world.user(account))
    for (const response of [
      given,
      key.get(fresh, { forged: true }),
      key.get(await asked()),
      other.key.get(fresh),
      '{"id":1}',
      '{',
      '000000',
    ])
      expect((await logIn(response)).status).toBe(401)
    const provider = { name: 'Codes', provider_name: 'otp', enabled: true }
    await world.operator.put('/v2/multi_factor', provider)
    const enrolled = await world.anonymous.put('/v2/multi_factor/qrcode', data, here)
    expect(enrolled.status).toBe(401)
    expect(enrolled.text).not.toContain('otpauth')
    const basic = `${account.id}:${data.credentials}`
    const header = { authorization: `Basic ${Buffer.from(basic).toString('base64')}` }
    expect((await world.anonymous.get(account.path, { headers: header })).status).toBe(401)
    expect((await signIn(key.get(await asked()))).status).toBe(201)
  })

  it('open nothing for users and accounts that are disabled, gone, or may not sign in so', async () => {
    const user = await person()
    const { key } = await register(user)
    const admin = await world.admin(user.account)
    const modules = (cb_user_auth: object) =>
      admin.post(`${user.account.path}/security`, { auth_modules: { cb_user_auth } })
    await modules({ enabled: false })
    expect((await signIn(key.get(await asked()))).status).toBe(401)
    await modules({ enabled: true })
    expect(await admin.patch(user.path, { enabled: false })).toSucceed()
    expect((await signIn(key.get(await asked()))).status).toBe(401)
    expect(await admin.patch(user.path, { enabled: true })).toSucceed()
    expect((await signIn(key.get(await asked()))).status).toBe(201)
    expect(await admin.delete(user.path)).toSucceed()
    expect((await signIn(key.get(await asked()))).status).toBe(401)
    const left = await world.server.store.all(
      "SELECT id FROM records WHERE kind = 'passkey' AND owner_id = $1",
      [user.id],
    )
    expect(left).toEqual([])
    const claims = await world.server.store.all(
      "SELECT value FROM claims WHERE name = 'passkey' AND value = $1",
      [key.id],
    )
    expect(claims).toEqual([])
  })
})
