// Second factors: setting them up, and signing in with them.
import { expect, it } from 'vitest'
import { hotp, totpStep } from '../../src/areas/accounts/multi-factor/rules.ts'
import { notForCaller } from '../support/matchers/refusals.ts'
import { base32Decode } from '../support/run/base32.ts'
import { eventually } from '../support/run/eventually.ts'
import type { Answer } from '../support/world/client.ts'
import { credentialsOf, describeAnyEngine, useWorld } from '../support/world/world.ts'

const loginPath = '/v2/user_auth'
const qrPath = '/v2/multi_factor/qrcode'
const otp = { name: 'Authenticator app', provider_name: 'otp', enabled: true }

describeAnyEngine('the second factor', (engine) => {
  const world = useWorld(engine, async ({ operator, configure }) => {
    await configure('crossbar.auth', { token_auth_expiry_s: 0 })
    await operator.put('/v2/multi_factor', otp)
  })

  /** An account that asks for a second factor, and a user of it. */
  const place = async (factor: object = { enabled: true }) => {
    const account = await world.account()
    const user = await world.user(account, { username: 'ann', password: 'ann-secret', priv_level: 'admin' })
    const settings = {
      auth_modules: { cb_user_auth: { multi_factor: factor, log_successful_attempts: true } },
    }
    expect(await user.post(`${account.path}/security`, settings)).toSucceed()
    const data = { credentials: credentialsOf('ann', 'ann-secret'), account_realm: account.realm }
    const send = (path: string, response?: string) =>
      world.anonymous.put(path, { ...data, ...(response ? { multi_factor_response: response } : {}) })
    const logIn = (response?: string) => send(loginPath, response)
    const enrol = (response?: string) => send(qrPath, response)
    return { account, user, data, logIn, enrol }
  }

  const secretIn = (url: string) => base32Decode(new URL(url).searchParams.get('secret') ?? '') as Uint8Array
  const codeOf = (secret: Uint8Array) => hotp(secret, totpStep(world.clock.now() / 1000))
  const wrongCodeOf = (secret: Uint8Array) =>
    String((Number(codeOf(secret)) + 1) % 1_000_000).padStart(6, '0')

  /** The same with an authenticator app that knows the secret. */
  const enrolled = async (factor?: object) => {
    const made = await place(factor)
    const secret = secretIn((await made.enrol()).data[0].qr_url)
    const first = await made.enrol(codeOf(secret))
    expect(first).toSucceed()
    world.clock.advance({ seconds: 30 })
    return {
      ...made,
      secret,
      code: () => codeOf(secret),
      recoveryCodes: first.data.recovery_codes as string[],
    }
  }

  const challenge = (userId: string, isEnrolled: boolean) => ({
    message: 'invalid credentials',
    multi_factor_request: { provider_name: 'otp', enrolled: isEnrolled },
    user_id: userId,
  })

  it('is enrolled by a QR code, whose first code signs in and gives ten recovery codes', async () => {
    const { account, user, logIn, enrol } = await place()
    expect(await logIn()).toFailWith(401, 'invalid_credentials', challenge(user.id, false))
    const enrolment = await enrol()
    const url = enrolment.data[0].qr_url as string
    expect(enrolment).toSucceedWith([{ qr_url: url }])
    expect(url).toMatch(
      new RegExp(`^otpauth://totp/${encodeURIComponent(account.name)}:ann\\?secret=[A-Z2-7]{32}&issuer=`),
    )
    expect((await enrol()).data[0].qr_url).toBe(url)
    const verified = await enrol(codeOf(secretIn(url)))
    expect(verified.status).toBe(201)
    expect(verified.data).toMatchObject({ account_id: account.id, owner_id: user.id })
    expect(verified.data.recovery_codes).toHaveLength(10)
    expect(new Set(verified.data.recovery_codes).size).toBe(10)
    expect(verified.data.recovery_codes[0]).toMatch(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/)
    const session = world.clientWithToken(verified.body.auth_token ?? '')
    expect((await session.get('/v2/token_auth')).data).toMatchObject({ mfa_resp: true, owner_id: user.id })
    expect(await enrol()).toFailWith(403, 'forbidden', { message: 'QR code already verified.' })
  })

  it('is drawn as a PNG where that is asked for', async () => {
    const { user, data } = await place()
    const drawn = await world.anonymous.put(qrPath, data, { headers: { accept: 'image/png' } })
    expect(drawn.status).toBe(200)
    expect(drawn.headers).toMatchObject({ 'content-type': 'image/png', 'cache-control': 'no-store' })
    const shown = await user.get(`${user.path}/qrcode`)
    expect(shown.headers['content-type']).toBe('image/png')
    expect(shown.text).toBe(drawn.text)
  })

  it('is asked for at each sign-in: without it 401, with it 201', async () => {
    const { account, user, logIn, code } = await enrolled()
    expect(await logIn()).toFailWith(401, 'invalid_credentials', challenge(user.id, true))
    const answer = await logIn(code())
    expect(answer).toSucceed()
    expect(answer.data).toMatchObject({ account_id: account.id, owner_id: user.id })
    expect(answer.data).not.toHaveProperty('recovery_codes')
  })

  it('cannot be passed by with Basic credentials', async () => {
    const { account, user, data } = await enrolled()
    const basic = Buffer.from(`${account.id}:${data.credentials}`).toString('base64')
    const caller = world.client({ authorization: `Basic ${basic}` })
    expect(await caller.get(user.path)).toFailWith(401, 'invalid_credentials', {
      message: 'invalid credentials',
    })
    await user.delete(`${account.path}/security`)
    expect(await caller.get(user.path)).toSucceed()
    await user.post(`${account.path}/security`, { auth_modules: { cb_user_auth: { enabled: false } } })
    expect(await caller.get(user.path)).toFailWith(401, 'invalid_credentials', {
      message: 'invalid credentials',
    })
  })

  it('takes the right code at once after a wrong one', async () => {
    const { user, logIn, code } = await enrolled()
    world.clock.advance({ milliseconds: 400 })
    expect(await logIn('000000')).toFailWith(401, 'invalid_credentials', challenge(user.id, true))
    expect(await logIn(code())).toSucceed()
    world.clock.advance({ milliseconds: 600 })
  })

  it('takes no code twice, nor one that is older than the last', async () => {
    const { user, logIn, code } = await enrolled()
    const first = code()
    world.clock.advance({ seconds: 30 })
    const second = code()
    expect(await logIn(second)).toSucceed()
    expect(await logIn(second)).toFailWith(401, 'invalid_credentials', challenge(user.id, true))
    expect(await logIn(first)).toFailWith(401, 'invalid_credentials', challenge(user.id, true))
  })

  it('takes one code once, however many send it at the same time', async () => {
    const { logIn, code } = await enrolled()
    const sent = code()
    const answers = await Promise.all([logIn(sent), logIn(sent), logIn(sent), logIn(sent)])
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 401, 401, 401])
  })

  it('may be a recovery code instead, each once', async () => {
    const { user, logIn, recoveryCodes } = await enrolled()
    const [first = '', second = ''] = recoveryCodes
    expect(await logIn(first)).toSucceed()
    expect(await logIn(first)).toFailWith(401, 'invalid_credentials', challenge(user.id, true))
    expect(await logIn(` ${second.toLowerCase().replaceAll('-', ' ')} `)).toSucceed()
  })

  it('cannot be guessed: after five wrong codes even the right one has to wait', async () => {
    const { secret, logIn, code } = await enrolled()
    for (let count = 1; count <= 5; count += 1) {
      expect(await logIn(wrongCodeOf(secret))).toFailWith(401, 'invalid_credentials')
    }
    const refused = await world.unchanged(() => logIn(code()))
    expect(refused).toFailWith(429, 'too_many_requests', { message: 'too many requests' })
    expect(refused.headers['retry-after']).toBe('60')
    world.clock.advance({ seconds: 60 })
    expect(await logIn(wrongCodeOf(secret))).toFailWith(401, 'invalid_credentials')
    expect((await logIn(code())).headers['retry-after']).toBe('120')
    world.clock.advance({ seconds: 120 })
    expect(await logIn(code())).toSucceed()
    expect(await logIn(wrongCodeOf(secret))).toFailWith(401, 'invalid_credentials')
  })

  it('counts wrong codes of many who guess at the same time', async () => {
    const { secret, logIn, code } = await enrolled()
    await Promise.all(Array.from({ length: 8 }, () => logIn(wrongCodeOf(secret))))
    expect(await logIn(code())).toFailWith(429, 'too_many_requests')
  })

  it('does not show whether it is right to who has not the password', async () => {
    const { data, code } = await enrolled()
    const credentials = credentialsOf('ann', 'wrong')
    const answer = await world.anonymous.put(loginPath, {
      ...data,
      credentials,
      multi_factor_response: code(),
    })
    expect(answer).toFailWith(401, 'invalid_credentials', { message: 'invalid credentials' })
    expect(await world.anonymous.put(qrPath, { ...data, credentials })).toFailWith(
      401,
      'invalid_credentials',
      { message: 'invalid credentials' },
    )
  })

  it('is stored sealed, its recovery codes only derived', async () => {
    const { secret, recoveryCodes } = await enrolled()
    const stored = JSON.stringify([
      await world.snapshot(),
      await world.server.store.all('SELECT before_doc, after_doc, changes FROM audit_log'),
    ])
    for (const text of [
      Buffer.from(secret).toString('base64'),
      Buffer.from(secret).toString('hex'),
      ...recoveryCodes,
      ...recoveryCodes.map((code) => code.replaceAll('-', '')),
    ]) {
      expect(stored).not.toContain(text)
    }
  })

  it('can be reset by an admin for a user that lost it, not by other users', async () => {
    const { account, user, logIn, enrol, code } = await enrolled()
    const path = `${user.path}/qrcode`
    const clerk = await world.user(account)
    expect(await user.get(path)).toFailWith(403, 'forbidden', { message: 'QR code already verified.' })
    await world.unchanged(async () => {
      expect(await clerk.get(path)).toFailWith(403, 'forbidden', notForCaller)
      expect(await clerk.delete(path)).toFailWith(403, 'forbidden', notForCaller)
      expect(await world.rex.delete(path)).toFailWith(403, 'forbidden', notForCaller)
    })
    const old = code()
    expect(await world.operator.delete(path)).toSucceedWith({})
    expect(await world.operator.delete(path)).toFailWith(404, 'bad_identifier', {
      message: 'bad identifier',
      cause: user.id,
    })
    expect(await logIn(old)).toFailWith(401, 'invalid_credentials', challenge(user.id, false))
    expect((await enrol()).data).toEqual([{ qr_url: expect.stringContaining('otpauth://totp/') }])
  })

  it('is not required for impersonation or for API keys', async () => {
    const { account, user } = await enrolled()
    const become = await world.operator.put(
      `${user.path}/user_auth`,
      {},
      { envelope: { action: 'impersonate_user' } },
    )
    expect(become).toSucceed()
    expect(await (await world.keyHolder(account)).get(account.path)).toSucceed()
  })

  it('has a separate log of attempts', async () => {
    const { account, user, secret, logIn, code } = await enrolled()
    await logIn(wrongCodeOf(secret))
    await logIn(code())
    const path = `${account.path}/multi_factor/attempts`
    const listed = await eventually(
      () => user.get(path),
      ({ data }) => data.length === 3,
    )
    expect(listed.data.map(({ status }: { status: string }) => status).sort()).toEqual([
      'failed',
      'success',
      'success',
    ])
    const [row] = listed.data
    expect(row.auth_type).toBe('multi_factor')
    expect((await user.get(`${path}/${row.id}`)).data.metadata).toEqual({
      account_id: account.id,
      owner_id: user.id,
    })
    const bySignIn = ({ data }: Answer) =>
      data.find(({ auth_type }: { auth_type: string }) => auth_type === 'user_auth')
    const other = bySignIn(
      await eventually(
        () => user.get(`${account.path}/security/attempts`),
        (answer) => bySignIn(answer) !== undefined,
      ),
    )
    expect(await user.get(`${path}/${other.id}`)).toFailWith(404, 'bad_identifier')
  })

  it('is skipped when no provider is available, and the log records that', async () => {
    const { user, logIn, account } = await place()
    const system = (await world.operator.get('/v2/multi_factor')).data
    await world.operator.patch(`/v2/multi_factor/${system[0].id}`, { enabled: false })
    expect(await logIn()).toSucceed()
    expect(await world.anonymous.put(qrPath, (await place()).data)).toFailWith(501, 'not_configured', {
      message: 'no second-factor provider is configured',
    })
    await world.operator.patch(`/v2/multi_factor/${system[0].id}`, { enabled: true })
    const listed = await eventually(
      () => user.get(`${account.path}/multi_factor/attempts`),
      ({ data }) => data.length === 1,
    )
    expect(listed.data[0]).toMatchObject({
      status: 'failed',
      message: 'no multi factor authentication provider is configured',
    })
  })

  it('reaches the accounts below only where the account above says so', async () => {
    const above = await place({ enabled: true })
    const below = await world.account(above.account)
    await world.user(below, { username: 'bob', password: 'bob-secret' })
    const logIn = () =>
      world.anonymous.put(loginPath, {
        credentials: credentialsOf('bob', 'bob-secret'),
        account_realm: below.realm,
      })
    expect(await logIn()).toSucceed()
    await above.user.patch(`${above.account.path}/security`, {
      auth_modules: { cb_user_auth: { multi_factor: { include_subaccounts: true } } },
    })
    expect(await logIn()).toFailWith(401, 'invalid_credentials')
  })

  it('ends with its user', async () => {
    const { user } = await enrolled()
    expect(await world.operator.delete(user.path)).toSucceed()
    const left = await world.server.store.all('SELECT id FROM records WHERE id = $1', [user.id])
    expect(left).toEqual([])
  })
})

describeAnyEngine('second-factor providers', (engine) => {
  const world = useWorld(engine)

  it('of the system can be changed only by the operator and listed by every user', async () => {
    const made = await world.operator.put('/v2/multi_factor', otp)
    expect(made).toSucceedWith({ ...otp, id: expect.stringMatching(/^[0-9a-f]{32}$/) })
    const path = `/v2/multi_factor/${made.data.id}`
    expect(await world.operator.get(path)).toSucceedWith({ ...otp, id: made.data.id })
    expect(await world.operator.post(path, { ...otp, name: 'App' })).toSucceedWith({
      ...otp,
      name: 'App',
      id: made.data.id,
    })
    expect(await world.operator.patch(path, { enabled: false })).toSucceed()
    expect(await world.uli.get('/v2/multi_factor')).toSucceedWith([
      { id: made.data.id, name: 'App', provider_name: 'otp', enabled: false },
    ])
    await world.unchanged(async () => {
      for (const answer of [
        await world.ross.put('/v2/multi_factor', otp),
        await world.ross.get(path),
        await world.ross.patch(path, { enabled: true }),
        await world.ross.delete(path),
      ]) {
        expect(answer).toFailWith(403, 'forbidden', notForCaller)
      }
    })
    const removed = await world.operator.delete(path)
    expect(removed.body.metadata).toMatchObject({ id: made.data.id, deleted: true })
    expect(await world.operator.get(path)).toFailWith(404, 'bad_identifier')
  })

  it('of an account are its admin’s, and named by its security settings', async () => {
    const path = `${world.acme.path}/multi_factor`
    const made = await world.ada.put(path, otp)
    expect(made).toSucceedWith({ ...otp, id: expect.any(String) })
    expect(await world.ada.get(path)).toSucceedWith({
      configured: [{ id: made.data.id, ...otp }],
      multi_factor_providers: [],
    })
    await world.unchanged(async () => {
      for (const answer of [
        await world.uli.put(path, otp),
        await world.uli.delete(`${path}/${made.data.id}`),
        await world.rex.put(path, otp),
        await world.rex.get(`${path}/${made.data.id}`),
      ]) {
        expect(answer).toFailWith(403, 'forbidden', notForCaller)
      }
      const elsewhere = `${world.rival.path}/multi_factor/${made.data.id}`
      expect(await world.rex.get(elsewhere)).toFailWith(404, 'bad_identifier')
    })
    const factor = { enabled: true, configuration_id: made.data.id, account_id: world.acme.id }
    await world.ada.post(`${world.acme.path}/security`, {
      auth_modules: { cb_user_auth: { multi_factor: factor } },
    })
    const { body } = await world.ada.get(`${world.acme.path}/security`)
    expect(body.metadata.account).toEqual({
      auth_modules: {
        cb_user_auth: {
          multi_factor: { configuration_id: made.data.id, name: otp.name, provider_name: 'otp' },
        },
      },
    })
  })

  it('need a name, a known kind and to be on or off', async () => {
    await world.unchanged(async () => {
      expect(await world.operator.put('/v2/multi_factor', {})).toBreak({
        name: ['required'],
        provider_name: ['required'],
        enabled: ['required'],
      })
      expect(await world.operator.put('/v2/multi_factor', { ...otp, provider_name: 'magic' })).toBreak({
        provider_name: ['enum'],
      })
    })
  })

  it('say that Duo is not configured', async () => {
    await world.unchanged(async () => {
      const duo = { ...otp, provider_name: 'duo', settings: { secret_key: 'hush' } }
      expect(await world.operator.put('/v2/multi_factor', duo)).toFailWith(501, 'not_configured', {
        message: 'Duo is not available on this server',
      })
    })
  })
})
