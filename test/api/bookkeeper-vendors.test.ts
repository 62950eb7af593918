// Whose bookkeepers a plan may name: the seller's own, and those that an account above lends.
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { type BookkeeperServer, startBookkeeper } from '../support/servers/bookkeeper-server.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

let common: BookkeeperServer
let ofNeighbour: BookkeeperServer

beforeAll(async () => {
  common = await startBookkeeper()
  ofNeighbour = await startBookkeeper('secret of the neighbour')
})

afterAll(async () => {
  await common.close()
  await ofNeighbour.close()
})

describeAnyEngine('bookkeepers of a plan', (engine) => {
  let neighbour: TestAccount

  const world = useWorld(engine)

  beforeAll(async () => {
    neighbour = await world.account(world.master)
    await world.operator.put(`${neighbour.path}/reseller`, {})
    await world.configure('services.http_sync', {
      ...common.settings,
      vendors: { [neighbour.id]: ofNeighbour.settings },
    })
  })

  const plans = () => `${world.reseller.path}/service_plans`

  const plan = (vendorId?: string) => ({
    name: 'Plan',
    plan: { devices: { sip_device: { rate: 1 } } },
    bookkeeper: { type: 'http', ...(vendorId === undefined ? {} : { vendor_id: vendorId }) },
  })

  const overrides = (vendorId: string) => ({ bookkeeper: { type: 'http', vendor_id: vendorId } })

  const refusal = { 'bookkeeper.vendor_id': ['forbidden'] }

  const lend = (vendor: TestAccount, ...to: string[]) =>
    world.operator.patch(vendor.path, { lends_bookkeepers_to: to })

  it('must belong to the seller, no matter which caller writes the plan', async () => {
    const before = await world.snapshot()
    for (const person of [world.ross, world.operator])
      for (const vendorId of [neighbour.id, world.master.id, world.acme.id, 'f'.repeat(32)])
        expect(await person.put(plans(), plan(vendorId))).toBreak(refusal)
    expect(await world.snapshot()).toEqual(before)
    const own = await world.ross.put(plans(), plan(world.reseller.id))
    expect(own.status).toBe(201)
    expect((await world.ross.put(plans(), plan())).status).toBe(201)
    const path = `${plans()}/${own.data.id}`
    await world.unchanged(async () => {
      expect(await world.ross.post(path, plan(neighbour.id))).toBreak(refusal)
      expect(await world.ross.patch(path, overrides(neighbour.id))).toBreak(refusal)
    })
  })

  it('must belong to the seller in the services of an account too', async () => {
    const account = await world.account(world.reseller)
    const { id } = (await world.ross.put(plans(), plan())).data
    const services = `${account.path}/services`
    await world.unchanged(async () => {
      const named = overrides(neighbour.id)
      for (const data of [named, { overrides: named }, { add: [{ id, overrides: named }] }] as Json[])
        expect(await world.ross.post(services, data)).toBreak(refusal)
      expect(await world.ross.post(`${services}/overrides`, named)).toBreak(refusal)
      expect(await world.ross.patch(`${services}/overrides`, named)).toBreak(refusal)
      expect(await world.ross.post(`${services}/${id}`, { overrides: named })).toBreak(refusal)
    })
    const own = overrides(world.reseller.id)
    expect((await world.ross.post(services, { ...own, overrides: own, add: [id] })).status).toBe(200)
  })

  it('are those of an account above, as long as that lends them', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const topUp = () => admin.post(`${account.path}/services/topup`, { amount: 5 })
    const charged = () => [...common.moved.values()].filter((one) => one.account === account.id).length
    await lend(world.master, world.reseller.id)
    const { data } = await world.ross.put(plans(), plan(world.master.id))
    expect(data.bookkeeper.vendor_id).toBe(world.master.id)
    expect((await world.ross.post(`${account.path}/services`, { add: [data.id] })).status).toBe(200)
    expect((await topUp()).status).toBe(200)
    expect(charged()).toBe(1)
    await lend(world.master)
    const refused = await topUp()
    expect(refused).toFailWith(500, 'invalid_bookkeeper')
    expect(charged()).toBe(1)
    const other = await world.account(world.reseller)
    await world.unchanged(async () =>
      expect(await world.ross.post(`${other.path}/services`, { add: [data.id] })).toBreak(refusal),
    )
  })

  it('are lent by admins alone', async () => {
    const uma = await world.user(world.reseller)
    const below = [world.acme.id]
    expect(await world.ross.patch(world.reseller.path, { lends_bookkeepers_to: below })).toSucceed()
    await world.unchanged(async () => {
      for (const named of [[], [...below, world.rival.id]])
        expect(await uma.patch(world.reseller.path, { lends_bookkeepers_to: named })).toFailWith(
          403,
          'forbidden',
        )
    })
    expect(await uma.patch(world.reseller.path, { lends_bookkeepers_to: null })).toSucceed()
    expect((await world.ross.get(world.reseller.path)).data.lends_bookkeepers_to).toEqual(below)
    const { name, realm } = world.reseller
    expect(await uma.post(world.reseller.path, { name, realm })).toSucceed()
    expect((await world.ross.get(world.reseller.path)).data.lends_bookkeepers_to).toEqual(below)
  })

  it('are not lent by an account that does not stand above', async () => {
    await lend(neighbour, world.reseller.id)
    await world.unchanged(async () =>
      expect(await world.ross.put(plans(), plan(neighbour.id))).toBreak(refusal),
    )
    expect(ofNeighbour.calls).toEqual([])
  })

  it('are asked for nothing by what is stored from before', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const { data } = await world.ross.put(plans(), plan())
    await world.ross.post(`${account.path}/services`, { add: [data.id] })
    const { areas, store } = world.server
    const { services } = areas.services.books
    const before = await services.find(account.id)
    const set = new ChangeSet({ requestId: 'test' })
    services.put(set, account.id, before, { ...before?.doc, overrides: overrides(neighbour.id) })
    await store.commit(set)
    expect((await admin.post(`${account.path}/services/topup`, { amount: 5 })).status).toBe(500)
    await world.server.scheduler.runNow('synchronization')
    expect(ofNeighbour.calls).toEqual([])
  })
})
