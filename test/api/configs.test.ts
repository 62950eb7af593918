import { expect, it } from 'vitest'
import { describeEngines, useWorld } from '../support/world.ts'

describeEngines('configs of accounts', (engine) => {
  const world = useWorld(engine)

  const pathOf = (account: { path: string }, name = 'portal') => `${account.path}/configs/${name}`

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
    for (const name of ['crossbar', 'token_buckets', 'frontier', 'crossbar.auth']) {
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
