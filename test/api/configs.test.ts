import { expect, it } from 'vitest'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('configs of accounts', (engine) => {
  const world = useWorld(engine)

  const pathOf = (account: { path: string }, name = 'portal') => `${account.path}/configs/${name}`

  it('shows what the system and the reseller say in a document of any name, unless the operator hides it', async () => {
    await world.operator.post('/v2/system_configs/phone.client', {
      default: { ignore_completed_elsewhere: false, nested: { open: 1 } },
    })
    const [above, below] = [pathOf(world.reseller, 'phone.client'), pathOf(world.acme, 'phone.client')]
    expect(await world.ross.post(above, { discount: 4 })).toSucceed()
    const shown = {
      id: 'configs_phone.client',
      ignore_completed_elsewhere: false,
      nested: { open: 1 },
      discount: 4,
    }
    expect(await world.ada.get(below)).toSucceedWith(shown)
    expect(await world.ada.post(below, { discount: 5 })).toSucceedWith({ ...shown, discount: 5 })
    await world.configure('crossbar.configs', { hidden_documents: ['phone.client'] })
    await world.unchanged(async () => {
      for (const answer of [
        await world.ross.get(above),
        await world.ross.patch(above, { discount: 6 }),
        await world.ada.get(below),
        await world.ada.put(below, { discount: 6 }),
        await world.ada.delete(below),
      ])
        expect(answer).toFailWith(404, 'bad_identifier', {
          message: 'bad identifier',
          cause: 'phone.client',
          reason: 'this document applies to the whole system',
        })
    })
    await world.operator.delete('/v2/system_configs/crossbar.configs')
    expect(await world.ada.get(below)).toSucceedWith({ ...shown, discount: 5 })
  })

  it('does not show accounts the passwords, tokens and keys of documents that no schema describes', async () => {
    const secrets = {
      pass: 'hush',
      token: 'hush',
      apiToken: 'hush',
      developer_key: 'hush',
      Authorization: 'hush',
      clientSecret: 'hush',
      access_key_id: 'hush',
      license: { key: 'hush', keys: [{ 'auth-token': 'hush' }] },
    }
    const open = { login: 'acme', bypass: true, tokens: 4 }
    await world.operator.post('/v2/system_configs/crm', { default: { ...open, ...secrets } })
    expect(await world.ross.post(pathOf(world.reseller, 'crm'), { reseller: secrets })).toSucceed()
    expect((await world.ada.get(pathOf(world.acme, 'crm'))).data).toEqual({
      id: 'configs_crm',
      ...open,
      license: { keys: [{}] },
      reseller: { license: { keys: [{}] } },
    })
    await world.operator.post('/v2/system_configs/number_manager.vitelity', { default: { login: 'acme' } })
    expect(await world.ada.get(pathOf(world.acme, 'number_manager.vitelity'))).toFailWith(
      404,
      'bad_identifier',
    )
  })

  it.each(['kazoo_endpoint', 'callflow', 'fax', 'media', 'notify', 'anything'])(
    'is empty for %s while nothing is set',
    async (name) => {
      const account = await world.account(world.rival)
      expect(await world.operator.get(pathOf(account, name))).toSucceedWith({ id: `configs_${name}` })
    },
  )

  it('still shows the settings of the system that apply to accounts', async () => {
    await world.operator.post('/v2/system_configs/number_manager', {
      default: { carrier_modules: ['knm_local'], unauthorized_numbers_lookup: true },
    })
    expect((await world.ada.get(pathOf(world.acme, 'number_manager'))).data).toEqual({
      id: 'configs_number_manager',
      unauthorized_numbers_lookup: true,
    })
    await world.operator.delete('/v2/system_configs/number_manager')
  })

  it('warns an account of keys that nothing follows', async () => {
    const warnings = [
      {
        path: 'colour',
        message: 'The server does not use this key',
      },
    ]
    const path = pathOf(world.acme, 'auth.password')
    const answer = await world.ada.post(path, { should_prevent_reuse: true, colour: 'red' })
    expect(answer.body.metadata.warnings).toEqual(warnings)
    expect((await world.ada.get(path)).body.metadata.warnings).toEqual(warnings)
    await world.ada.delete(path)
  })

  it('shows an account that it has a secret, and takes the mask for what it was', async () => {
    const account = await world.account(world.reseller)
    const path = pathOf(account, 'shop')
    const shown = { id: 'configs_shop', api_key: '***', colour: 'red', nested: { password: '***' } }
    const given = { api_key: 'hush-1', colour: 'red', nested: { password: 'hush-2' } }
    expect(await world.operator.put(path, given)).toSucceedWith(shown)
    expect(await world.operator.get(path)).toSucceedWith(shown)
    const { id: _id, ...echo } = shown
    expect(await world.operator.post(path, { ...echo, colour: 'blue' })).toSucceedWith({
      ...shown,
      colour: 'blue',
    })
    const kept = () => world.server.store.records.find(account.id, 'account_config', 'configs_shop')
    expect((await kept())?.doc).toEqual({ ...given, colour: 'blue' })
    expect(await world.operator.patch(path, { nested: { password: null } })).toSucceedWith({
      id: 'configs_shop',
      api_key: '***',
      colour: 'blue',
      nested: {},
    })
    const deleted = await world.operator.delete(path)
    expect(deleted).toSucceedWith({ id: 'configs_shop', api_key: '***', colour: 'blue', nested: {} })
  })

  it('lays the values of the account over those of its reseller and of the system', async () => {
    await world.operator.post('/v2/system_configs/portal', {
      default: { theme: 'grey', limits: { rows: 10, columns: 3 }, list: [1] },
    })
    expect(await world.ross.post(pathOf(world.reseller), { theme: 'blue' })).toSucceed()
    expect(await world.ada.post(pathOf(world.acme), { limits: { rows: 20 } })).toSucceedWith({
      id: 'configs_portal',
      theme: 'blue',
      limits: { rows: 20, columns: 3 },
      list: [1],
    })
    expect(await world.ada.get(pathOf(world.acme))).toSucceedWith({
      id: 'configs_portal',
      theme: 'blue',
      limits: { rows: 20, columns: 3 },
      list: [1],
    })
    expect(await world.rex.get(pathOf(world.rival))).toSucceedWith({
      id: 'configs_portal',
      theme: 'blue',
      limits: { rows: 10, columns: 3 },
      list: [1],
    })
  })

  it('keeps only what differs, and nothing when nothing differs', async () => {
    const account = await world.account(world.reseller)
    await world.operator.post('/v2/system_configs/kept', { default: { a: 1, b: 2 } })
    await world.operator.put(pathOf(account, 'kept'), { a: 1, b: 3 })
    await world.operator.post('/v2/system_configs/kept', { default: { a: 9, b: 2 } })
    expect((await world.operator.get(pathOf(account, 'kept'))).data).toEqual({
      id: 'configs_kept',
      a: 9,
      b: 3,
    })
    await world.operator.post(pathOf(account, 'kept'), { a: 9, b: 2 })
    expect(await world.operator.delete(pathOf(account, 'kept'))).toFailWith(404, 'bad_identifier')
  })

  it('merges a PATCH into the values of the account and deletes them again', async () => {
    const account = await world.account(world.reseller)
    await world.operator.put(pathOf(account, 'free'), { a: { b: 1 }, c: 2 })
    expect(await world.operator.patch(pathOf(account, 'free'), { a: { d: 3 }, c: null })).toSucceedWith({
      id: 'configs_free',
      a: { b: 1, d: 3 },
    })
    const deleted = await world.operator.delete(pathOf(account, 'free'))
    expect(deleted).toSucceedWith({ id: 'configs_free', a: { b: 1, d: 3 } })
    expect(deleted.body.metadata.deleted).toBe(true)
    expect(await world.operator.get(pathOf(account, 'free'))).toSucceedWith({ id: 'configs_free' })
  })

  it('reads the document default when none is named', async () => {
    const account = await world.account(world.reseller)
    await world.operator.post(pathOf(account, 'default'), { a: 1 })
    expect(await world.operator.get(`${account.path}/configs`)).toSucceedWith({ id: 'configs_default', a: 1 })
  })

  it('keeps secrets of the system and of the reseller from the accounts below', async () => {
    await world.operator.post('/v2/system_configs/guarded', {
      default: { signing_secret: 'system-hush', nested: { password: 'system-hush', open: 1 } },
    })
    await world.ross.post(pathOf(world.reseller, 'guarded'), { api_key: 'reseller-hush' })
    const answer = await world.ada.get(pathOf(world.acme, 'guarded'))
    expect(answer).toSucceedWith({ id: 'configs_guarded', nested: { open: 1 } })
  })

  it('knows no account level of documents that the server follows as a whole', async () => {
    const before = await world.snapshot()
    for (const name of ['crossbar', 'token_buckets', 'frontier', 'crossbar.auth', 'ecallmgr']) {
      expect(await world.ada.get(pathOf(world.acme, name))).toFailWith(404, 'bad_identifier')
      expect(await world.ada.post(pathOf(world.acme, name), { a: 1 })).toFailWith(404, 'bad_identifier')
    }
    expect(await world.ada.post(pathOf(world.acme, 'a%20b'), {})).toFailWith(404, 'bad_identifier')
    expect(await world.snapshot()).toEqual(before)
  })

  it('refuses users without the right and strangers, and changes nothing', async () => {
    const before = await world.snapshot()
    expect(await world.uli.post(pathOf(world.acme), { a: 1 })).toFailWith(403, 'forbidden')
    expect(await world.rex.post(pathOf(world.acme), { a: 1 })).toFailWith(403, 'forbidden')
    expect(await world.rex.get(pathOf(world.acme))).toFailWith(403, 'forbidden')
    expect(await world.ada.get(pathOf(world.reseller))).toFailWith(403, 'forbidden')
    expect(await world.snapshot()).toEqual(before)
  })
})
