import { expect, it } from 'vitest'
import { credentialsOf, describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('The login result', (engine) => {
  const world = useWorld(engine)

  const ofAcme = () => ({
    account_id: world.acme.id,
    account_name: 'Acme',
    apps: [],
    is_reseller: false,
    is_master_account: false,
    language: 'en-US',
    reseller_id: world.reseller.id,
    capabilities: {},
    ui_config: {},
  })

  it('of user_auth is account_id, apps, is_reseller, language, owner_id, reseller_id', async () => {
    const data = { credentials: credentialsOf('ada', 'ada-secret'), account_name: 'Acme' }
    expect(await world.anonymous.put('/v2/user_auth', data)).toSucceedWith({
      ...ofAcme(),
      owner_id: world.ada.id,
      user_info: {
        first_name: 'Ada',
        last_name: 'Admin',
        full_name: 'Ada Admin',
        username: 'ada',
        priv_level: 'admin',
        has_avatar: false,
      },
    })
  })

  it('of api_auth is the same, of no user', async () => {
    const { data } = await world.ada.get(`${world.acme.path}/api_key`)
    expect(await world.anonymous.put('/v2/api_auth', { api_key: data.api_key })).toSucceedWith(ofAcme())
  })

  it('has the token itself in the envelope field auth_token', async () => {
    const data = { credentials: credentialsOf('uli', 'uli-secret'), account_name: 'Acme' }
    const { body } = await world.anonymous.put('/v2/user_auth', data)
    expect(body.data).not.toHaveProperty('auth_token')
    const uli = world.clientWithToken(String(body.auth_token))
    expect((await uli.get(world.uli.path)).data.id).toBe(world.uli.id)
  })

  it('apps: array, those that are available to the account', async () => {
    const account = await world.account(world.reseller, { available_apps: ['callflows'] })
    await world.user(account, { username: 'app', password: 'app-secret' })
    const data = { credentials: credentialsOf('app', 'app-secret'), account_name: account.name }
    const signedIn = await world.anonymous.put('/v2/user_auth', data)
    expect(signedIn.data.apps).toEqual([{ id: 'callflows', name: 'callflows', label: 'callflows' }])
  })
})
