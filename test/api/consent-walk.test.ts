// On every route, no price rises and nothing is charged before the payer has agreed.
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Route } from '../../src/http/route.ts'
import { createRewind } from '../support/servers/store-rewind.ts'
import type { Client } from '../support/world/client.ts'
import { nameOf } from '../support/world/route-samples.ts'
import {
  callRoute,
  hasOwnStage,
  onAccount,
  type Stage,
  setStage,
  writingRoutes,
} from '../support/world/route-stage.ts'
import { walkLimitMs } from '../support/world/walk.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const priced = (rate: number) => ({ _all: { rate, activation_charge: 2 * rate, cascade: true } })
const everything = (rate: number) =>
  Object.fromEntries(
    [
      'accounts',
      'branding',
      'devices',
      'limits',
      'number_carriers',
      'number_services',
      'phone_numbers',
      'users',
    ].map((category) => [category, priced(rate)]),
  )

/**
 * The routes that ask for consent in this test. Other routes need more than ordinary records and have separate
 * tests.
 */
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

  interface Place {
    id: string
    admin: Client
    stage: Stage
  }

  const makePlace = async (planId: string, route: string): Promise<Place> => {
    const stage = await setStage(world, route)
    const id = String(stage.ids.account_id)
    const account = { id, name: '', realm: '', path: `/v2/accounts/${id}` }
    const admin = await world.admin(account)
    await world.operator.delete(`${account.path}/token_restrictions`)
    await world.operator.patch(account.path, { wnm_allow_additions: true })
    expect((await world.ross.post(`${account.path}/services`, { add: [planId] })).status).toBe(200)
    await world.credit(account, 100_000)
    return { id, admin, stage }
  }

  /** Calls a route. Answers with whether it asked for consent. */
  const isAsked = async (route: Route, { id, admin, stage }: Place) => {
    const name = nameOf(route)
    const before = await stateOf(world.operator, id)
    const answer = await callRoute(admin, route, stage, `asked ${name}`.replaceAll(/[^\w]/g, '-'))
    if (answer.status !== 402) {
      const isGone = name === `DELETE ${onAccount}`
      if (isGone || answer.status >= 300) return false
      const after = await stateOf(world.operator, id)
      expect([name, after.recurring <= before.recurring]).toEqual([name, true])
      if (!name.includes('/ledgers/') && !name.includes('/topup'))
        expect([name, after.balance]).toEqual([name, before.balance])
      return false
    }
    expect([name, answer.body.message]).toEqual([name, 'accept charges'])
    expect(await stateOf(world.operator, id)).toEqual(before)
    const agree = (query: { quote_id?: string }) =>
      callRoute(admin, route, stage, `agreed ${name}`.replaceAll(/[^\w]/g, '-'), {
        accept_charges: true,
        ...query,
      })
    const dearer = { plan: everything(500) }
    expect((await world.ross.post(`/v2/accounts/${id}/services/overrides`, dearer)).status).toBe(200)
    const raised = await stateOf(world.operator, id)
    const again = await agree({})
    expect([name, again.status, again.body.message]).toEqual([name, 402, 'accept charges'])
    const old = await agree({ quote_id: answer.body.quote_id as string })
    expect([name, old.status, old.body.quote_id]).toEqual([name, 402, again.body.quote_id])
    expect(await stateOf(world.operator, id)).toEqual(raised)
    const shown = (again.data as unknown as Asked[]).reduce((sum, { summary }) => sum + summary.today, 0)
    const agreed = await agree({ quote_id: again.body.quote_id as string })
    expect([name, agreed.status < 300], agreed.text).toEqual([name, true])
    const after = await stateOf(world.operator, id)
    expect([name, after.balance]).toEqual([name, before.balance - shown])
    return true
  }

  it(
    'is asked by every route that costs more, asked again at a higher price, and charged what it was shown last',
    async () => {
      const { data: plan } = await world.ross.put(`${world.reseller.path}/service_plans`, {
        name: 'Everything',
        plan: everything(1),
      })
      const routes = writingRoutes(world).filter(({ path }) => path.startsWith(onAccount))
      // An embedded store is reset after each route, so that one server can be used for most of them.
      const placeOf = (route: Route) =>
        engine === 'postgres' || hasOwnStage(nameOf(route)) ? nameOf(route) : 'of most routes'
      const asked: string[] = []
      for (const [name, ofPlace] of Map.groupBy(routes, placeOf)) {
        const place = await makePlace(plan.id, name)
        const store =
          ofPlace.length > 1 ? createRewind(join(world.place.dataDir, 'crosspoint.db')) : undefined
        for (const route of ofPlace) {
          if (await isAsked(route, place)) asked.push(nameOf(route))
          store?.rewind()
        }
        store?.close()
      }
      expect(asked.toSorted()).toEqual(expect.arrayContaining(asking))
    },
    walkLimitMs,
  )
})
