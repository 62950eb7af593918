// Endpoints: authentication and account.
import { expect, it } from 'vitest'
import { expectNoStrangers, said } from '../support/matchers/said.ts'
import { nowOf } from '../support/world/legs.ts'
import {
  credentialsOf,
  describeAnyEngine,
  type TestAccount,
  useWorld,
  type World,
} from '../support/world/world.ts'

const keyOf = async ({ operator }: World, { path }: TestAccount): Promise<string> =>
  (await operator.get(`${path}/api_key`)).data.api_key

describeAnyEngine('Endpoints: authentication and account', (engine) => {
  const world = useWorld(engine)

  const loginOf = (account: TestAccount) => ({
    account_id: account.id,
    account_name: account.name,
    reseller_id: world.reseller.id,
    is_reseller: false,
    is_master_account: false,
    language: 'en-US',
    apps: [],
    capabilities: {},
    ui_config: {},
  })

  it('PUT /v2/user_auth: an envelope with auth_token and the login result', async () => {
    const { acme, anonymous, uli } = world
    const credentials = credentialsOf('uli', 'uli-secret')
    const answer = await anonymous.put('/v2/user_auth', { credentials, account_name: 'Acme' })
    expect(said(answer)).toEqual({
      status: 201,
      data: {
        ...loginOf(acme),
        owner_id: uli.id,
        user_info: {
          first_name: 'Uli',
          last_name: 'User',
          full_name: 'Uli User',
          username: 'uli',
          priv_level: 'user',
          has_avatar: false,
        },
      },
      metadata: {},
    })
    expect(await world.clientWithToken(String(answer.body.auth_token)).get(uli.path)).toSucceed()
  })

  it('PUT /v2/user_auth: credentials hash the lower-cased username, a colon, the password', async () => {
    const { anonymous, acme } = world
    await world.user(acme, { username: 'Mixed.Case', password: 'Keeps Its Case' })
    const asked = (name: string, password: string) =>
      anonymous.put('/v2/user_auth', { credentials: credentialsOf(name, password), account_name: 'Acme' })
    expect(await asked('mixed.case', 'Keeps Its Case')).toSucceed()
    expect(await asked('mixed.case', 'keeps its case')).toFailWith(401, 'invalid_credentials', {
      message: 'invalid credentials',
    })
  })

  it('PUT /v2/user_auth: `method` next to data says md5 or sha', async () => {
    const { anonymous } = world
    const signIn = (algorithm: 'md5' | 'sha1', method: string) => {
      const credentials = credentialsOf('uli', 'uli-secret', algorithm)
      return anonymous.put('/v2/user_auth', { credentials, account_name: 'Acme' }, { envelope: { method } })
    }
    expect(await signIn('md5', 'md5')).toSucceed()
    expect(await signIn('sha1', 'sha')).toSucceed()
    expect(await signIn('sha1', 'md5')).toFailWith(401, 'invalid_credentials')
    expect(await signIn('md5', 'sha')).toFailWith(401, 'invalid_credentials')
  })

  it('PUT /v2/api_auth: the same, for an account’s api_key', async () => {
    const { acme, anonymous } = world
    const answer = await anonymous.put('/v2/api_auth', { api_key: await keyOf(world, acme) })
    expect(said(answer)).toEqual({ status: 201, data: loginOf(acme), metadata: {} })
    expect(await world.clientWithToken(String(answer.body.auth_token)).get(acme.path)).toSucceed()
  })

  it('GET /v2/accounts/{account_id}: the account record', async () => {
    const { acme, ada, reseller } = world
    const readOnly = {
      id: acme.id,
      reseller_id: reseller.id,
      is_reseller: false,
      enabled: true,
      superduper_admin: false,
      wnm_allow_additions: false,
      billing_mode: 'manual',
      created: nowOf(world),
      modified: nowOf(world),
    }
    expect(said(await ada.get(acme.path))).toEqual({
      status: 200,
      data: {
        ...readOnly,
        name: 'Acme',
        realm: 'acme.test',
        language: 'en-US',
        timezone: 'UTC',
        knm_allow_additions: false,
        descendants_count: 0,
        caller_id: { internal: { name: '' }, external: { name: '' }, emergency: { name: '' } },
        blacklists: [],
        available_apps: [],
        call_restriction: {},
        music_on_hold: {},
      },
      metadata: readOnly,
    })
  })

  it('GET /v2/accounts/{account_id}/users/{user_id}: the user record', async () => {
    const { ada, uli } = world
    expect(said(await ada.get(uli.path))).toEqual({
      status: 200,
      data: {
        id: uli.id,
        first_name: 'Uli',
        last_name: 'User',
        username: 'uli',
        priv_level: 'user',
        enabled: true,
        verified: false,
        require_password_update: false,
        has_avatar: false,
        vm_to_email_enabled: true,
        hotdesk: { enabled: false, keep_logged_in_elsewhere: false, require_pin: false },
        call_restriction: {},
        music_on_hold: {},
      },
      metadata: {
        id: uli.id,
        created: nowOf(world),
        modified: nowOf(world),
        is_password_expired: false,
      },
    })
  })

  it('account and user are for their own account and those above', async () => {
    const { acme, ross, operator, uli } = world
    await expectNoStrangers(world, [
      ['GET', '/v2/accounts/{account_id}'],
      ['GET', '/v2/accounts/{account_id}/users/{user_id}'],
    ])
    for (const who of [uli, ross, operator])
      for (const path of [acme.path, uli.path]) expect(await who.get(path)).toSucceed()
  })
})
