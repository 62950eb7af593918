// Accounts above pay for what is below, and an account without money keeps only itself from buying.
import { beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { describeAnyEngine, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

describeAnyEngine('charges in a tree of accounts without money', (engine) => {
  const world = useWorld(engine)

  interface Level {
    account: TestAccount
    admin: Person
  }

  const priced = (activation_charge: number) => ({
    users: { user: { rate: 1, activation_charge, cascade: true } },
  })

  const sell = async (by: Person, { path }: TestAccount, buyer: TestAccount, plan: Json) => {
    const made = await by.put(`${path}/service_plans`, { name: 'Plan', plan })
    expect(await by.post(`${buyer.path}/services`, { add: [made.data.id] })).toSucceed()
  }

  const level = async (above: TestAccount, isReseller: boolean): Promise<Level> => {
    const account = await world.account(above)
    if (isReseller) expect(await world.operator.put(`${account.path}/reseller`, {})).toSucceed()
    return { account, admin: await world.admin(account) }
  }

  /** A reseller, a reseller below it, and a customer, each with a plan that counts what is below. */
  const tree = async () => {
    const top = await level(world.master, true)
    const middle = await level(top.account, true)
    const customer = await level(middle.account, false)
    await sell(world.operator, world.master, top.account, priced(10))
    await sell(top.admin, top.account, middle.account, priced(20))
    await sell(middle.admin, middle.account, customer.account, priced(30))
    return { top, middle, customer }
  }

  const balanceOf = async ({ account }: Level) =>
    (await world.operator.get(`${account.path}/ledgers/total`)).data.amount

  const addUser = ({ admin, account }: Level) =>
    admin.put(
      `${account.path}/users`,
      { first_name: 'A', last_name: 'B' },
      { query: { accept_charges: true } },
    )

  it('are booked at every level, below nothing too', async () => {
    const { top, middle, customer } = await tree()
    expect((await addUser(customer)).status).toBe(201)
    expect(await Promise.all([top, middle, customer].map(balanceOf))).toEqual([-10, -20, -30])
  })

  it('are refused to a prepaid account for its own charges alone, with what its own balance lacks', async () => {
    const { top, middle, customer } = await tree()
    for (const { account } of [top, middle, customer]) await world.prepay(account)
    await world.credit(customer.account, 29)
    const refused = await world.unchanged(() => addUser(customer))
    expect(refused).toFailWith(402, 'not_enough_credit', {
      message: 'the account does not have enough credit to perform the operation',
      missing: 1,
    })
    await world.credit(customer.account, 1)
    expect((await addUser(customer)).status).toBe(201)
    expect(await Promise.all([top, middle, customer].map(balanceOf))).toEqual([-10, -20, 0])
    const own = await world.unchanged(() => addUser(middle))
    expect(own).toFailWith(402, 'not_enough_credit', expect.objectContaining({ missing: 40 }))
  })

  it('are not refused to an account below one whose reseller made it prepaid by a plan', async () => {
    const { top, customer } = await tree()
    const limited = await world.operator.put(`${world.master.path}/service_plans`, {
      name: 'Prepaid',
      plan: {},
      limits: { prepaid: true },
    })
    expect(await world.operator.post(`${top.account.path}/services`, { add: [limited.data.id] })).toSucceed()
    expect((await addUser(customer)).status).toBe(201)
    expect(await world.unchanged(() => addUser(top))).toFailWith(402, 'not_enough_credit', expect.anything())
  })

  describe('when the operator enforces good standing', () => {
    beforeAll(() => world.configure('services', { enforce_good_standing: true }))

    const hold = ({ account }: Level) =>
      world.operator.post(`${account.path}/services/status`, { in_good_standing: false, reason: 'card' })

    it.each(['top', 'middle'] as const)(
      'are refused below an account that is delinquent (%s), which is not named',
      async (name) => {
        const levels = await tree()
        await hold(levels[name])
        const refused = await world.unchanged(() => addUser(levels.customer))
        expect(refused).toFailWith(402, 'billing_issue', {
          reason: 'delinquent',
          message: 'contact your provider',
        })
        expect(refused.text).not.toContain(levels[name].account.id)
      },
    )

    it('are refused to an account that is billed through a delinquent parent, which is not named', async () => {
      const { middle, customer } = await tree()
      const path = `${customer.account.path}/services`
      expect(await customer.admin.post(path, { billing_id: middle.account.id })).toSucceed()
      await hold(middle)
      expect(await world.unchanged(() => addUser(customer))).toFailWith(402, 'billing_issue', {
        reason: 'delinquent',
        message: 'contact your provider',
      })
    })

    it('are refused to a delinquent account with the reason', async () => {
      const { customer } = await tree()
      await hold(customer)
      expect(await world.unchanged(() => addUser(customer))).toFailWith(402, 'billing_issue', {
        reason: 'card',
        message: 'the account is not in good standing',
      })
    })
  })
})
