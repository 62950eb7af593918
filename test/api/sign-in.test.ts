// The ways in.
import { expect, it } from 'vitest'
import { notForCaller } from '../support/matchers/refusals.ts'
import { basicHeader } from '../support/world/client.ts'
import { credentialsOf, describeAnyEngine, useWorld, type World } from '../support/world/world.ts'

const refused = { message: 'invalid credentials' }
const uliDigest = credentialsOf('uli', 'uli-secret')

const giveNumber = (world: World, number: string, accountId: string) =>
  world.operator.put(`/v2/accounts/${accountId}/phone_numbers/${encodeURIComponent(number)}`)

describeAnyEngine('signing in with a user name and password', (engine) => {
  const world = useWorld(engine)

  const signIn = (data: object, envelope?: object) =>
    world.anonymous.put('/v2/user_auth', data, envelope ? { envelope: { ...envelope } } : {})

  it('answers a token and who it is for', async () => {
    const answer = await signIn({ credentials: uliDigest, account_name: 'Acme' })
    expect(answer).toSucceedWith({
      account_id: world.acme.id,
      account_name: 'Acme',
      owner_id: world.uli.id,
      reseller_id: world.reseller.id,
      is_reseller: false,
      is_master_account: false,
      language: 'en-US',
      apps: [],
      capabilities: {},
      ui_config: {},
      user_info: {
        first_name: 'Uli',
        last_name: 'User',
        full_name: 'Uli User',
        username: 'uli',
        priv_level: 'user',
        has_avatar: false,
      },
    })
    const token = String(answer.body.auth_token)
    expect(answer.body).not.toHaveProperty('version')
    expect((await world.clientWithToken(token).get(world.uli.path)).data.username).toBe('uli')
  })

  it('finds the account by name, realm, phone number or id', async () => {
    await giveNumber(world, '+14155550100', world.acme.id)
    const byName = await signIn({ credentials: uliDigest, account_name: 'Acme' })
    const ways = [
      { account_name: 'a-c/m e' },
      { account_realm: 'acme.test' },
      { account_realm: 'ACME.Test' },
      { realm: 'acme.test' },
      { account_id: world.acme.id },
      { phone_number: '+14155550100' },
      { phone_number: '4155550100' },
      { phone_number: '+1 (415) 555-0100' },
      { phone_number: ' 415.555/0100 ' },
      { phone_number: '415\u2011555\u20130100' },
    ]
    for (const way of ways)
      expect(await signIn({ credentials: uliDigest, ...way })).toSucceedWith(byName.data)
  })

  it('falls through names that find nothing, and stops at the first that finds an account', async () => {
    const nothing = { phone_number: '+19995550100', account_realm: 'nowhere.example', account_name: 'nobody' }
    expect(await signIn({ credentials: uliDigest, ...nothing, account_id: world.acme.id })).toSucceed()
    expect(await signIn({ credentials: uliDigest, ...nothing, account_name: 'acme' })).toSucceed()
    const wrongFirst = { account_realm: 'rival.test', account_name: 'acme' }
    expect(await signIn({ credentials: uliDigest, ...wrongFirst })).toFailWith(
      401,
      'invalid_credentials',
      refused,
    )
  })

  it('tries every account of a name', async () => {
    await world.configure('crossbar.accounts', { ensure_unique_name: false })
    const [first, second] = [
      await world.account(world.acme, { name: 'Same Name' }),
      await world.account(world.rival, { name: 'same name' }),
    ]
    await world.user(first, { username: 'one', password: 'one-secret' })
    const two = await world.user(second, { username: 'two', password: 'two-secret' })
    const answer = await signIn({ credentials: credentialsOf('two', 'two-secret'), account_name: 'SameName' })
    expect(answer.data).toMatchObject({ account_id: second.id, owner_id: two.id })
  })

  it('takes sha1 with the method sha, in data or next to it, and md5 otherwise', async () => {
    const account_name = 'acme'
    const sha = credentialsOf('uli', 'uli-secret', 'sha1')
    expect(await signIn({ credentials: sha, account_name, method: 'sha' })).toSucceed()
    expect(await signIn({ credentials: sha, account_name }, { method: 'sha' })).toSucceed()
    expect(await signIn({ credentials: uliDigest, account_name, method: 'md5' })).toSucceed()
    expect(await signIn({ credentials: uliDigest.toUpperCase(), account_name })).toSucceed()
    expect(await signIn({ credentials: uliDigest, account_name, method: 'sha' })).toFailWith(
      401,
      'invalid_credentials',
    )
    expect(await signIn({ credentials: sha, account_name })).toFailWith(401, 'invalid_credentials')
    expect(await signIn({ credentials: sha, account_name, method: 'sha256' })).toBreak({ method: ['enum'] })
  })

  it('takes the method from the query too: the data has precedence, then the envelope', async () => {
    const account_name = 'acme'
    const [sha, md5] = [credentialsOf('uli', 'uli-secret', 'sha1'), uliDigest]
    const sign = (data: object, envelope: object, method: string) =>
      world.anonymous.put(`/v2/user_auth?method=${method}`, data, { envelope: { ...envelope } })
    expect(await sign({ credentials: sha, account_name }, {}, 'sha')).toSucceed()
    expect(await sign({ credentials: sha, account_name }, { method: 'sha' }, 'md5')).toSucceed()
    expect(
      await sign({ credentials: sha, account_name, method: 'sha' }, { method: 'md5' }, 'md5'),
    ).toSucceed()
    expect(
      await sign({ credentials: md5, account_name, method: 'md5' }, { method: 'sha' }, 'sha'),
    ).toSucceed()
  })

  it('rejects an unknown method, wherever it is sent', async () => {
    const data = { credentials: uliDigest, account_name: 'acme' }
    await world.unchanged(async () => {
      for (const path of ['/v2/user_auth', '/v2/multi_factor/qrcode']) {
        expect(await world.anonymous.put(path, { ...data, method: 'sha512' })).toBreak({ method: ['enum'] })
        for (const method of ['sha512', 'MD5', '', 5, true, {}, ['sha'], { toString: 1, valueOf: 1 }]) {
          const beside = await world.anonymous.put(path, data, { envelope: { method } })
          expect(beside).toBreak({ method: ['enum'] })
        }
        expect(await world.anonymous.put(`${path}?method=sha512`, data)).toBreak({ method: ['enum'] })
      }
    })
  })

  it('returns the apps of the account', async () => {
    const account = await world.account(world.reseller, { available_apps: ['callflows', 'voicemails'] })
    await world.user(account, { username: 'app', password: 'app-secret' })
    const signed = await signIn({
      credentials: credentialsOf('app', 'app-secret'),
      account_name: account.name,
    })
    const named = (name: string) => ({ id: name, name, label: name })
    expect(signed.data.apps).toEqual([named('callflows'), named('voicemails')])
  })

  it('is refused in the same words for every wrong name and password', async () => {
    const attempts = [
      { credentials: credentialsOf('uli', 'wrong'), account_name: 'acme' },
      { credentials: credentialsOf('nobody', 'uli-secret'), account_name: 'acme' },
      { credentials: uliDigest, account_name: 'rival' },
      { credentials: uliDigest, account_name: 'no such account' },
      { credentials: uliDigest, account_name: '!!!' },
      { credentials: uliDigest, account_id: 'x'.repeat(32) },
      { credentials: uliDigest },
    ]
    for (const attempt of attempts) {
      const answer = await world.unchanged(() => signIn(attempt))
      expect(answer).toFailWith(401, 'invalid_credentials', refused)
      expect(answer.body).not.toHaveProperty('auth_token')
    }
  })

  it('says so where the password itself is sent, or the other digest', async () => {
    const [md5, sha] = [
      'credentials must not be the password itself: send the MD5 digest of username:password, the user name in lower case, as 32 hex digits',
      'credentials must not be the password itself: send the SHA-1 digest of username:password, the user name in lower case, as 40 hex digits',
    ]
    const [account_name, method] = ['acme', 'sha']
    for (const [attempt, cause] of [
      [{ credentials: 'uli-secret', account_name }, md5],
      [{ credentials: uliDigest.slice(1), account_name }, md5],
      [{ credentials: credentialsOf('uli', 'uli-secret', 'sha1'), account_name }, md5],
      [{ credentials: uliDigest, account_name, method }, sha],
    ] as const) {
      const answer = await world.unchanged(() => signIn(attempt))
      expect(answer).toFailWith(401, 'invalid_credentials', { ...refused, cause })
    }
  })

  it('names what is wrong with the request', async () => {
    expect(await signIn({})).toBreak({ credentials: ['required'] })
    expect(await signIn({ credentials: '', account_id: 'short' })).toBreak({
      credentials: ['minLength'],
      account_id: ['minLength'],
    })
    expect(await signIn({ credentials: 'x'.repeat(65), account_realm: 'a b c d', account_name: '' })).toBreak(
      {
        credentials: ['maxLength'],
        account_realm: ['pattern'],
        account_name: ['minLength'],
      },
    )
  })

  it('is refused to a disabled user, whose tokens do not work until the user is enabled', async () => {
    const user = await world.user(world.acme, { username: 'sleeper', password: 'sleep-secret' })
    const data = { credentials: credentialsOf('sleeper', 'sleep-secret'), account_name: 'acme' }
    await world.ada.patch(user.path, { enabled: false })
    expect(await signIn(data)).toFailWith(401, 'invalid_credentials', refused)
    expect(await user.get(user.path)).toFailWith(401, 'invalid_credentials', {
      message: 'invalid credentials',
    })
    await world.ada.patch(user.path, { enabled: true })
    expect(await signIn(data)).toSucceed()
    expect(await user.get(user.path)).toSucceed()
  })

  it('is refused while the account is disabled, and its tokens are too', async () => {
    const account = await world.account(world.acme, { name: 'Sleepy' })
    const user = await world.user(account, { username: 'u', password: 'u-secret' })
    const key = await world.keyHolder(account)
    const { api_key } = (await world.ada.get(`${account.path}/api_key`)).data
    await world.ada.patch(account.path, { enabled: false })
    const digest = credentialsOf('u', 'u-secret')
    const disabled = { account: { disabled: { message: 'account disabled', cause: account.id } } }
    const answers = [
      await signIn({ credentials: digest, account_name: 'sleepy' }),
      await world.anonymous.put('/v2/api_auth', { api_key }),
      await user.get(account.path),
      await key.get(account.path),
      await world.client(basicHeader(account.id, digest)).get(account.path),
    ]
    for (const answer of answers) expect(answer).toFailWith(400, 'validation error', disabled)
    const wrong = { credentials: credentialsOf('u', 'wrong'), account_name: 'sleepy' }
    expect(await signIn(wrong)).toFailWith(401, 'invalid_credentials', refused)
    await world.ada.patch(account.path, { enabled: true })
    expect(await user.get(account.path)).toSucceed()
  })

  it('speaks the language of the user, else of the account', async () => {
    const account = await world.account(world.acme, { name: 'Lingua', language: 'de-DE' })
    await world.user(account, { username: 'a', password: 'a-secret' })
    await world.user(account, { username: 'b', password: 'b-secret', language: 'fr-FR' })
    const language = async (name: string) =>
      (await signIn({ credentials: credentialsOf(name, `${name}-secret`), account_name: 'lingua' })).data
        .language
    expect([await language('a'), await language('b')]).toEqual(['de-DE', 'fr-FR'])
  })

  it('returns the flags of resellers and of the operator', async () => {
    const result = async (name: string, account_name: string) =>
      (await signIn({ credentials: credentialsOf(name, `${name}-secret`), account_name })).data
    expect(await result('ross', 'reseller')).toMatchObject({ is_reseller: true, is_master_account: false })
    expect(await result('operator', 'master')).toMatchObject({
      is_reseller: true,
      is_master_account: true,
      reseller_id: world.master.id,
    })
  })
})

describeAnyEngine('signing in with an API key', (engine) => {
  const world = useWorld(engine)
  const keyOf = async (path: string) => (await world.operator.get(`${path}/api_key`)).data.api_key as string
  const signIn = (data: object) => world.anonymous.put('/v2/api_auth', data)

  it('answers a token of the account, not of a user', async () => {
    const answer = await signIn({ api_key: await keyOf(world.acme.path) })
    expect(answer).toSucceedWith({
      account_id: world.acme.id,
      account_name: 'Acme',
      reseller_id: world.reseller.id,
      is_reseller: false,
      is_master_account: false,
      language: 'en-US',
      apps: [],
      capabilities: {},
      ui_config: {},
    })
    const client = world.clientWithToken(String(answer.body.auth_token))
    expect(await client.get(`${world.acme.path}/users`)).toSucceed()
    expect(await client.get(world.rival.path)).toFailWith(403, 'forbidden')
  })

  it('takes keys of 64 characters and nothing else', async () => {
    expect(await signIn({ api_key: 'a'.repeat(63) })).toBreak({ api_key: ['minLength'] })
    expect(await signIn({ api_key: 'a'.repeat(65) })).toBreak({ api_key: ['maxLength'] })
    expect(await signIn({ api_key: 'a'.repeat(64), more: 1 })).toBreak({ more: ['additionalProperties'] })
    expect(await signIn({})).toBreak({ api_key: ['required'] })
  })

  it('rejects unknown keys', async () => {
    const api_key = 'a'.repeat(64)
    expect(await signIn({ api_key })).toFailWith(404, 'bad identifier', [api_key])
  })

  it('forgets the old key at a reset, not the tokens made with it', async () => {
    const old = await keyOf(world.rival.path)
    const token = String((await signIn({ api_key: old })).body.auth_token)
    const fresh = (await world.rex.put(`${world.rival.path}/api_key`, {})).data.api_key
    expect(await signIn({ api_key: old })).toFailWith(404, 'bad identifier', [old])
    expect(await signIn({ api_key: fresh })).toSucceed()
    expect(await world.clientWithToken(token).get(world.rival.path)).toSucceed()
  })
})

describeAnyEngine('Basic credentials', (engine) => {
  const world = useWorld(engine)
  const basic = (accountId: string, digest: string) => world.client(basicHeader(accountId, digest))

  it('are the account id and the digest', async () => {
    const account = await world.account(world.acme)
    await world.user(account, { username: 'only', password: 'only-secret' })
    const client = basic(account.id, credentialsOf('only', 'only-secret'))
    for (let round = 0; round < 3; round += 1) {
      const answer = await client.get(`${account.path}/users`)
      expect(answer.data).toHaveLength(1)
      expect(answer.body).not.toHaveProperty('auth_token')
    }
  })

  it('carry the rights of their user and no more', async () => {
    const client = basic(world.acme.id, uliDigest)
    const foreign = [
      client.get(world.master.path),
      client.get(`${world.master.path}/users`),
      client.patch(`${world.master.path}/users/0123456789abcdef0123456789abcdef`, { first_name: 'x' }),
      client.put(`${world.acme.path}/api_key`, {}),
    ]
    for (const answer of await world.unchanged(() => Promise.all(foreign)))
      expect(answer).toFailWith(403, 'forbidden', notForCaller)
  })

  it('are refused when anything is wrong', async () => {
    const encode = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })
    const wrong = [
      basicHeader(world.acme.id, credentialsOf('uli', 'wrong')),
      basicHeader(world.rival.id, uliDigest),
      basicHeader('0123456789abcdef0123456789abcdef', uliDigest),
    ]
    for (const headers of wrong) {
      const answer = await world.client(headers).get(world.uli.path)
      expect(answer).toFailWith(401, 'invalid_credentials', refused)
    }
    const cause =
      'Basic credentials are ACCOUNT_ID:DIGEST, with the MD5 digest of username:password, the user name in lower case, as 32 hex digits'
    const misshapen = [
      basicHeader(world.acme.id, credentialsOf('uli', 'uli-secret', 'sha1')),
      encode(world.acme.id),
      encode(`${world.acme.id}:`),
      encode(`${world.acme.id}:uli:uli-secret`),
      encode(`uli:uli-secret`),
      { authorization: 'Basic %%%' },
      { authorization: 'Basic' },
    ]
    for (const headers of misshapen) {
      const answer = await world.client(headers).get(world.uli.path)
      expect(answer).toFailWith(401, 'invalid_credentials', { ...refused, cause })
    }
  })

  it('stop working with the password, at once', async () => {
    const user = await world.user(world.acme, { username: 'basic', password: 'basic-old' })
    const [before, after] = ['basic-old', 'basic-new'].map((word) =>
      basic(world.acme.id, credentialsOf('basic', word)),
    )
    expect(await before?.get(user.path)).toSucceed()
    await world.ada.patch(user.path, { password: 'basic-new' })
    expect(await before?.get(user.path)).toFailWith(401, 'invalid_credentials', refused)
    expect(await after?.get(user.path)).toSucceed()
    await world.ada.patch(user.path, { enabled: false })
    expect(await after?.get(user.path)).toFailWith(401, 'invalid_credentials', refused)
  })

  it('may be sha1 when the operator says so', async () => {
    await world.configure('crossbar', { basic_auth_type: 'sha' })
    expect(
      await basic(world.acme.id, credentialsOf('uli', 'uli-secret', 'sha1')).get(world.uli.path),
    ).toSucceed()
    expect(await basic(world.acme.id, uliDigest).get(world.uli.path)).toFailWith(401, 'invalid_credentials')
    await world.configure('crossbar', { basic_auth_type: 'md5' })
  })
})
