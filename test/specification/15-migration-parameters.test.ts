import { expect, it } from 'vitest'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const now = { perform_migration: 'now' }

describeAnyEngine('Migration parameters', (engine) => {
  const world = useWorld(engine)
  const at = ({ path }: TestAccount) => `${path}/migrations/recount_services`

  /** An account with a customer and a reseller below it. */
  const family = async () => {
    const top = await world.account()
    const customer = await world.account(top)
    const reseller = await world.account(top)
    await world.operator.put(`${reseller.path}/reseller`, {})
    return { top, customer, reseller }
  }

  const performedOn = async (account: TestAccount, parameters: object) =>
    (await world.operator.post(at(account), { ...now, ...parameters })).data.performed_on.sort()

  it('perform_migration: `now`, the only supported value; none by default', async () => {
    const { top } = await family()
    await world.unchanged(async () => {
      for (const wrong of [{}, { perform_migration: 'later' }, { perform_migration: true }])
        expect(await world.operator.post(at(top), wrong)).toFailWith(400, 'validation error', {
          migration: {
            failed: {
              message: 'Field perform_migration must be now',
              error: 'invalid action time',
              target: 'now',
            },
          },
        })
    })
    expect((await world.operator.get(at(top))).data.performed).toBe(false)
    expect(await performedOn(top, {})).toEqual([top.id])
    expect((await world.operator.get(at(top))).data.performed).toBe(true)
  })

  it('include_descendants: true or false, also run on sub-accounts; false by default', async () => {
    const { top, customer } = await family()
    expect(await performedOn(top, {})).toEqual([top.id])
    expect(await performedOn(top, { include_descendants: false })).toEqual([top.id])
    expect(await performedOn(top, { include_descendants: true })).toEqual([top.id, customer.id].sort())
  })

  it('include_resellers: true or false, also run on reseller sub-accounts; false by default', async () => {
    const { top, customer, reseller } = await family()
    const both = { include_descendants: true, include_resellers: true }
    expect(await performedOn(top, both)).toEqual([top.id, customer.id, reseller.id].sort())
    expect(await performedOn(top, { ...both, include_resellers: false })).toEqual(
      [top.id, customer.id].sort(),
    )
  })

  it.each(['include_descendants', 'include_resellers'])('%s is refused as anything else', async (name) => {
    await world.unchanged(async () => {
      expect(await world.ross.post(at(world.acme), { ...now, [name]: 'perhaps' })).toBreak({
        [name]: ['type'],
      })
    })
  })

  it('are accepted only from admins of the account and above it', async () => {
    expect(await world.ada.post(at(world.acme), now)).toSucceed()
    expect(await world.ross.post(at(world.acme), now)).toSucceed()
    await world.unchanged(async () => {
      for (const person of [world.uli, world.rex])
        expect(await person.post(at(world.acme), now)).toFailWith(403, 'forbidden')
    })
  })
})
