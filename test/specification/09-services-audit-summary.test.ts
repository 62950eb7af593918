import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { nowOf } from '../support/world/legs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('The services audit summary', (engine) => {
  const world = useWorld(engine)

  /** An account with phones of which one is gone again. */
  const withPhones = async () => {
    const account = await world.account(world.reseller)
    const first = await world.device(account)
    for (const _ of [2, 3]) await world.device(account)
    await world.operator.delete(first.path)
    await world.server.scheduler.runNow('quantities')
    return account
  }

  it('has for a category and a day: addition, removal, quantity, last_timestamp, sum_quantity', async () => {
    const account = await withPhones()
    const day = { addition: 3, removal: 1, quantity: 2, last_timestamp: nowOf(world), sum_quantity: false }
    const { data } = await world.ross.get(`${account.path}/services/audit/summary`)
    const itself = { '2026-01-05': { ...day, addition: 1, removal: 0, quantity: 1 } }
    const phones = { '2026-01-05': day }
    expect(data).toEqual([{ accounts: itself, devices: phones }])
    const category = await world.ross.get(`${account.path}/services/audit/summary/devices`)
    expect(category).toSucceedWith([phones])
  })

  it('is of the days between created_from and created_to', async () => {
    const account = await withPhones()
    const path = `${account.path}/services/audit/summary/devices`
    const daysOf = async (query: Record<string, number>) =>
      ((await world.ross.get(path, { query })).data as Json[]).flatMap((day) => Object.keys(day))
    const today = nowOf(world)
    expect(await daysOf({ created_from: today - 86_400, created_to: today })).toEqual(['2026-01-05'])
    expect(await daysOf({ created_to: today - 86_400 })).toEqual([])
  })

  it('is empty when nothing has moved', async () => {
    const account = await withPhones()
    const query = { created_to: nowOf(world) - 86_400 }
    for (const path of ['audit/summary', 'audit_summary'])
      expect(await world.ross.get(`${account.path}/services/${path}`, { query })).toSucceedWith([])
  })

  it('counts the whole of the days in which created_from and created_to lie', async () => {
    const account = await withPhones()
    const path = `${account.path}/services/audit/summary`
    const whole = (await world.ross.get(path)).data
    const query = { created_from: nowOf(world) - 2, created_to: nowOf(world) - 1 }
    expect(await world.ross.get(path, { query })).toSucceedWith(whole)
  })

  it('is visible only to users of the account and above it', async () => {
    const path = `${world.acme.path}/services/audit/summary`
    for (const person of [world.uli, world.ross]) expect(await person.get(path)).toSucceed()
    expect(await world.rex.get(path)).toFailWith(403, 'forbidden')
  })
})
