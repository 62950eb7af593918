// The typed client: ways in and out, and sessions that end.
import { expect, it } from 'vitest'
import {
  type CrosspointCore,
  CrosspointError,
  credentialsOf,
  localStorageStore,
  memoryStore,
  type SecondFactorNeeded,
  type Session,
  SignedOut,
} from '../../client/src/core.ts'
import { hotp, totpStep } from '../../src/areas/accounts/multi-factor/rules.ts'
import { base32Decode } from '../support/run/base32.ts'
import { eventually } from '../support/run/eventually.ts'
import { mailsTo, textOf } from '../support/servers/outbox.ts'
import { clientAs, clientOf, serverOf } from '../support/world/crosspoint.ts'
import { describeAnyEngine, credentialsOf as digestOf, useWorld, type World } from '../support/world/world.ts'

const thrownBy = async (act: () => Promise<unknown>): Promise<unknown> => {
  try {
    await act()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

const errorOf = async (act: () => Promise<unknown>): Promise<CrosspointError> => {
  const error = await thrownBy(act)
  if (error instanceof CrosspointError) return error
  throw error
}

describeAnyEngine('the typed client', (engine) => {
  const anHour = { token_auth_expiry_s: 3600 }
  const settings = { 'crossbar.auth': { token_auth_expiry_s: 0 } }
  const settle = async ({ operator, configure, acme }: World) => {
    await configure('crossbar', { recovery_ui_hosts: ['ui.acme.test'] })
    await operator.put('/v2/multi_factor', { name: 'App', provider_name: 'otp', enabled: true })
    const ends = { auth_modules: { cb_user_auth: anHour, cb_api_auth: anHour } }
    expect(await operator.post(`${acme.path}/security`, ends)).toSucceed()
  }
  const world = useWorld(engine, settle, undefined, { settings })

  const ownName = async (client: CrosspointCore) => {
    const { accountId, userId } = client.session() ?? {}
    const { data } = await client.request<{ username: string }>({
      path: `/v2/accounts/${accountId}/users/${userId}`,
    })
    return data.username
  }

  it('makes the digests that the server expects', () => {
    for (const [name, password] of [
      ['Ada', 'ada-secret'],
      ['ÄÖ', 'pässwörd \u{1f511}'],
      ['', ''],
    ] as const)
      expect(credentialsOf(name, password)).toBe(digestOf(name, password))
  })

  it('signs in by account name, id and realm, and with a digest', async () => {
    const { acme, ada } = world
    const proofs = [
      { username: 'ada', password: 'ada-secret', account: 'Acme' },
      { username: 'ADA', password: 'ada-secret', account: acme.id },
      { username: 'ada', password: 'ada-secret', realm: 'acme.test' },
      { credentials: digestOf('ada', 'ada-secret'), realm: 'acme.test' },
    ]
    for (const proof of proofs) {
      const client = clientOf(world)
      expect(client.session()).toBeUndefined()
      const answer = await client.signIn(proof)
      expect(answer).toEqual({ state: 'signed_in', session: client.session() })
      expect(client.session()).toMatchObject({
        accountId: acme.id,
        userId: ada.id,
        login: { account_name: 'Acme', is_reseller: false },
      })
      expect(await ownName(client)).toBe('ada')
    }
  })

  it('signs in with an API key, and asks no user again when that session has ended', async () => {
    const { data } = await world.operator.get(`${world.acme.path}/api_key`)
    const ended: Session[] = []
    const client = clientOf(world, { onSignedOut: (session) => void ended.push(session) })
    await client.signIn({ apiKey: data.api_key })
    const first = client.session()
    expect(first).toMatchObject({ accountId: world.acme.id })
    expect(first).not.toHaveProperty('userId')
    world.clock.advance({ hours: 48 })
    const names = await Promise.all(
      [1, 2, 3].map(() => client.request<{ name: string }>({ path: world.acme.path })),
    )
    expect(names.map((answer) => answer.data.name)).toEqual(['Acme', 'Acme', 'Acme'])
    expect(client.session()?.token).not.toBe(first?.token)
    expect(ended).toEqual([])
  })

  it('distinguishes a wrong password from an account that requires more', async () => {
    const wrong = { username: 'ada', password: 'wrong', account: 'Acme' }
    const error = await errorOf(() => clientOf(world).signIn(wrong))
    expect(error).toMatchObject({ status: 401, kind: 'invalid_credentials', name: 'CrosspointError' })
    expect(error).not.toBeInstanceOf(SignedOut)
    expect(error.requestId).toMatch(/^[0-9a-f]{32}$/)
  })

  it('goes through the second factor: picture, wrong code, code, recovery codes, code again', async () => {
    const account = await world.account()
    const user = await world.admin(account, { username: 'ann', password: 'ann-secret' })
    const factor = { auth_modules: { cb_user_auth: { multi_factor: { enabled: true } } } }
    expect(await user.post(`${account.path}/security`, factor)).toSucceed()
    const proof = { username: 'ann', password: 'ann-secret', realm: account.realm }
    const client = clientOf(world)
    const challenge = async () => (await client.signIn(proof)) as SecondFactorNeeded

    const first = await challenge()
    expect(first).toMatchObject({ state: 'second_factor_needed', isEnrolled: false, passkey: undefined })
    const url = new URL(await first.enrol())
    expect(url.protocol).toBe('otpauth:')
    const secret = base32Decode(url.searchParams.get('secret') ?? '') ?? new Uint8Array()
    const code = () => hotp(secret, totpStep(world.clock.now() / 1000))
    const wrongCode = String((Number(code()) + 1) % 1_000_000).padStart(6, '0')
    expect(await errorOf(() => first.answer(wrongCode))).toMatchObject({ status: 401 })
    expect(client.session()).toBeUndefined()
    const { recoveryCodes } = await first.answer(code())
    expect(recoveryCodes).toHaveLength(10)
    expect(await ownName(client)).toBe('ann')
    expect(client.session()?.login).not.toHaveProperty('recovery_codes')
    await client.signOut()

    world.clock.advance({ seconds: 30 })
    const second = await challenge()
    expect(second.isEnrolled).toBe(true)
    expect(await second.answer(code())).toEqual({ state: 'signed_in', session: client.session() })
    await client.signOut()
    await (await challenge()).answer(recoveryCodes?.[0] ?? '')
    expect(await ownName(client)).toBe('ann')
  })

  it('asks for a recovery mail, whose id is good for a new password', async () => {
    const account = await world.account()
    const email = `zoe@${account.realm}`
    const zoe = await world.user(account, { username: 'zoe', email, send_email_on_creation: false })
    const client = clientOf(world)
    await client.requestRecovery({
      username: 'zoe',
      realm: account.realm,
      uiUrl: 'https://ui.acme.test/login',
    })
    await world.deliverMail()
    const [mail] = await mailsTo(world.place.dataDir, email)
    const resetId = /recovery=([0-9a-f]+)/.exec(textOf(mail ?? ''))?.[1] ?? ''
    await client.signInByRecovery(resetId)
    const change = { password: 'a-new-password', require_password_update: false }
    await client.request({ method: 'PATCH', path: zoe.path, data: change })
    await clientOf(world).signIn({ username: 'zoe', password: 'a-new-password', realm: account.realm })
  })

  it('ends a session at the server when it is signed out', async () => {
    const client = clientOf(world)
    await client.signIn({ username: 'uli', password: 'uli-secret', account: 'Acme' })
    const token = client.session()?.token ?? ''
    await client.signOut()
    expect(client.session()).toBeUndefined()
    const error = await errorOf(() => clientAs({ token }, serverOf(world)))
    expect(error).toMatchObject({ status: 401 })
    await client.signOut()
  })

  it('takes the session of another way in: acting as a user', async () => {
    const client = await clientAs(world.operator, serverOf(world))
    const path = `${world.uli.path}/user_auth`
    const { envelope } = await client.request({
      method: 'PUT',
      path,
      data: {},
      envelope: { action: 'impersonate_user' },
    })
    client.signInWith(envelope)
    expect(await ownName(client)).toBe('uli')
  })

  it('lets the user sign in again when the session has ended, once for all calls, which then succeed', async () => {
    const asked: Session[] = []
    const client = clientOf(world, {
      onSignedOut: async (ended) => {
        asked.push(ended)
        await client.signIn({ username: 'ada', password: 'ada-secret', account: 'Acme' })
      },
    })
    await client.signIn({ username: 'ada', password: 'ada-secret', account: 'Acme' })
    const before = client.session()
    world.clock.advance({ hours: 48 })
    const calls = ['Form', 'Second', 'Third'].map((name) =>
      client.request<{ name: string }>({
        method: 'PUT',
        path: `${world.acme.path}/devices`,
        data: { name },
      }),
    )
    const names = (await Promise.all(calls)).map(({ data }) => data.name)
    expect(names).toEqual(['Form', 'Second', 'Third'])
    expect(asked).toEqual([before])
    const rows: unknown[] = []
    for await (const { name } of client.eachOf<{ name: string }>(`${world.acme.path}/devices`))
      rows.push(name)
    expect(rows.sort()).toEqual(['Form', 'Second', 'Third'])
  })

  it('reports that the session has ended when no user signs in again', async () => {
    let asked = 0
    const store = memoryStore()
    const client = clientOf(world, {
      store,
      onSignedOut: () => {
        asked += 1
      },
    })
    await client.signIn({ username: 'uli', password: 'uli-secret', account: 'Acme' })
    world.clock.advance({ hours: 48 })
    const error = await errorOf(() => client.request({ path: world.acme.path }))
    expect(error).toBeInstanceOf(SignedOut)
    expect(store.load()).toBeUndefined()
    expect(asked).toBe(1)
    const after = await errorOf(() => client.request({ path: world.acme.path }))
    expect(after).toMatchObject({ status: 401, name: 'CrosspointError' })
    expect(asked).toBe(1)
  })

  it('stops waiting for a new sign-in when the call is cancelled', async () => {
    const gaveUp = new AbortController()
    const client = clientOf(world, {
      onSignedOut: () => {
        gaveUp.abort(new Error('the page was left'))
        return new Promise(() => {})
      },
    })
    await client.signIn({ username: 'uli', password: 'uli-secret', account: 'Acme' })
    world.clock.advance({ hours: 48 })
    const call = client.request({ path: world.acme.path, signal: gaveUp.signal })
    await expect(call).rejects.toThrow('the page was left')
  })

  it('keeps the session when a 401 is about something else', async () => {
    const client = await clientAs(world.ada, serverOf(world), {
      onSignedOut: () => {
        throw new Error('asked for nothing')
      },
    })
    const path = `/v2/accounts/${'0'.repeat(32)}`
    expect(await errorOf(() => client.request({ path }))).toMatchObject({ status: 401 })
    expect(client.session()?.accountId).toBe(world.acme.id)
  })

  it('renews a session before it ends, while calls continue', async () => {
    const account = await world.account()
    const user = await world.admin(account, { username: 'ann', password: 'ann-secret' })
    const short = { auth_modules: { cb_user_auth: { token_auth_expiry_s: 2 } } }
    expect(await user.post(`${account.path}/security`, short)).toSucceed()
    const client = clientOf(world)
    await client.signIn({ username: 'ann', password: 'ann-secret', realm: account.realm })
    const first = client.session()?.token
    const read = async () => {
      await client.request({ path: account.path })
      return client.session()?.token
    }
    const renewed = await eventually(read, (token) => token !== first)
    expect(renewed).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
    expect(await ownName(client)).toBe('ann')
  })

  it('counts the age of a token of another client from the creation of the token', async () => {
    const account = await world.account()
    const user = await world.admin(account, { username: 'old', password: 'old-secret' })
    expect(
      await user.post(`${account.path}/security`, { auth_modules: { cb_user_auth: anHour } }),
    ).toSucceed()
    const other = clientOf(world)
    await other.signIn({ username: 'old', password: 'old-secret', realm: account.realm })
    const token = other.session()?.token ?? ''
    const fresh = await clientAs({ token }, serverOf(world))
    await fresh.request({ path: account.path })
    // The clock advances by 50 minutes below, more than a busy machine needs until here.
    expect(Date.now() - (fresh.session()?.openedAt ?? 0)).toBeLessThan(25 * 60_000)
    world.clock.advance({ minutes: 50 })
    const client = await clientAs({ token }, serverOf(world))
    const read = async () => {
      await client.request({ path: account.path })
      return client.session()?.token
    }
    await eventually(read, (now) => now !== token)
    expect(await ownName(client)).toBe('old')
  })

  it('keeps a session in a shared storage, and ignores invalid sessions there', async () => {
    const kept = new Map<string, string>()
    const storage = {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
      removeItem: (key: string) => void kept.delete(key),
    }
    const store = () => localStorageStore('here', storage)
    const [one, other] = [clientOf(world, { store: store() }), clientOf(world, { store: store() })]
    await one.signIn({ username: 'uli', password: 'uli-secret', account: 'Acme' })
    expect(await ownName(other)).toBe('uli')
    await other.signOut()
    expect(one.session()).toBeUndefined()
    for (const text of ['', 'null', '{"token": 1}', '[]', 'nonsense']) {
      kept.set('here', text)
      expect(one.session()).toBeUndefined()
    }
  })
})
