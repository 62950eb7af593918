// Whatever route it is: nothing becomes dearer, and nothing is charged, before whoever pays has agreed to it.
import { expect, it } from 'vitest'
import type { Client } from '../support/client.ts'
import { nameOf } from '../support/route-samples.ts'
import { callRoute, onAccount, setStage, writingRoutes } from '../support/route-stage.ts'
import { describeAnyEngine, useWorld } from '../support/world.ts'

const priced = { _all: { rate: 1, activation_charge: 2, cascade: true } }
const everything = Object.fromEntries(
  [
    'accounts',
    'branding',
    'devices',
    'limits',
    'number_carriers',
    'number_services',
    'phone_numbers',
    'users',
  ].map((category) => [category, priced]),
)

/** What the walk brings to ask: others need more than ordinary records, and have tests of their own. */
const asking = [`PUT ${onAccount}`, `PUT ${onAccount}/devices`, `PUT ${onAccount}/users`]

interface Asked {
  summary: { today: number }
}

describeAnyEngine('a customer whose plan prices everything', (engine) => {
  const world = useWorld(engine)

  /** Dollars of each month, and those that are left. */
  const stateOf = async (by: Client, accountId: string) => {
    const path = `/v2/accounts/${accountId}`
    const { data } = await by.get(`${path}/services/summary`)
    const invoices = data.invoices as { summary: { recurring: number } }[]
    return {
      recurring: invoices.reduce((sum, { summary }) => sum + summary.recurring, 0),
      balance: (await by.get(`${path}/ledgers/total`)).data.amount as number,
    }
  }

  it('is asked by every route that makes anything dearer, and charged what it was shown', {
    timeout: 600_000,
  }, async () => {
    const { data: plan } = await world.ross.put(`${world.reseller.path}/service_plans`, {
      name: 'Everything',
      plan: everything,
    })
    const asked: string[] = []
    for (const route of writingRoutes(world)) {
      const name = nameOf(route)
      if (!route.path.startsWith(onAccount)) continue
      const stage = await setStage(world, name)
      const id = String(stage.ids.account_id)
      const account = { id, name: '', realm: '', path: `/v2/accounts/${id}` }
      const admin = await world.admin(account)
      await world.operator.delete(`${account.path}/token_restrictions`)
      await world.operator.patch(account.path, { wnm_allow_additions: true })
      expect((await world.ross.post(`${account.path}/services`, { add: [plan.id] })).status).toBe(200)
      await world.credit(account, 1000)
      const before = await stateOf(world.operator, id)
      const answer = await callRoute(admin, route, stage, `asked ${name}`.replaceAll(/[^\w]/g, '-'))
      if (answer.status !== 402) {
        const isGone = name === `DELETE ${onAccount}`
        if (isGone || answer.status >= 300) continue
        const after = await stateOf(world.operator, id)
        expect([name, after.recurring <= before.recurring]).toEqual([name, true])
        if (!name.includes('/ledgers/') && !name.includes('/topup'))
          expect([name, after.balance]).toEqual([name, before.balance])
        continue
      }
      expect([name, answer.body.message]).toEqual([name, 'accept charges'])
      expect(await stateOf(world.operator, id)).toEqual(before)
      const shown = (answer.data as unknown as Asked[]).reduce((sum, { summary }) => sum + summary.today, 0)
      const agreed = await callRoute(admin, route, stage, `agreed ${name}`.replaceAll(/[^\w]/g, '-'), {
        accept_charges: true,
      })
      expect([name, agreed.status < 300], agreed.text).toEqual([name, true])
      const after = await stateOf(world.operator, id)
      expect([name, after.balance]).toEqual([name, before.balance - shown])
      asked.push(name)
    }
    expect(asked.toSorted()).toEqual(expect.arrayContaining(asking))
  })
})
