// Properties of every history of a reseller, a reseller below it and a customer, all without money at first: a
// charge is at most the price shown; a removal refunds its charge; all levels pay; money pays the oldest
// invoice first. The test keeps its own books, separate from those of the server.
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { type Chance, createChance, seed } from '../fuzz/chance.ts'
import { countOf } from '../support/run/run-length.ts'
import type { Answer, Client } from '../support/world/client.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

// `CROSSPOINT_TEST_HISTORIES=10000` runs 10,000 histories on each engine: some ten minutes on an idle machine.
const count = Number(process.env.CROSSPOINT_TEST_HISTORIES) || countOf(5, 500)
// A bill is made for all accounts of a store: many small stores take less time than a large one.
const perStore = Math.min(count, 100)
const stores = Math.ceil(count / perStore)
const periods = 5
const limitMs = count === 5 ? 60_000 : 600_000

interface Prices {
  rate: number
  activation: number
  /** Whether additions are charged, and removals given back, by the day. */
  isProrated: boolean
}

/** The charge for one user this month, and whether the plan of that time refunds it. */
interface Charge {
  rate: number
  isPromised: boolean
}

/** An account, and what the test knows of its money. Units. */
interface Level {
  path: string
  /** The prices of the account that sells to it. */
  prices: Prices
  /** The charge for each user, in the order in which they came; missing: no charge. */
  charged: (Charge | undefined)[]
  /** Charged this month, less what was given back. */
  spent: number
  balance: number
  /** Booked since the last bill. */
  unbilled: number
}

interface History {
  chance: Chance
  customer: string
  adminId: string
  admin: Client
  levels: readonly [Level, Level, Level]
  users: string[]
}

const dollars = (units: number) => units / 10_000
const unitsOf = (amount: number) => Math.round(amount * 10_000)
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

const planAt = ({ rate, activation, isProrated }: Prices) => ({
  users: {
    user: {
      rate: dollars(rate),
      activation_charge: dollars(activation),
      cascade: true,
      prorate: { additions: isProrated, removals: isProrated },
    },
  },
})

const suite = (part: number) =>
  describeEngines(`histories of money, part ${part},`, (engine) => {
    const world = useWorld(engine, ({ configure }) =>
      configure('services.dunning', { of_balances: true, attempt_days: [], grace_days: 1 }),
    )
    const runJobs = async (...names: string[]) => {
      for (const name of names) await world.server.scheduler.runNow(name)
    }
    let operator: Client
    let booked = 0

    const must = (answer: Answer) => {
      expect(answer).toSucceed()
      return answer.data
    }

    const left = (units: number) => {
      const day = new Date(world.clock.now())
      const all = new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + 1, 0)).getUTCDate()
      return Math.round((units * (all - day.getUTCDate() + 1)) / all)
    }

    const newPrices = (chance: Chance): Prices => ({
      rate: chance.pick([0, 1, 310_000, chance.below(500_000)]),
      activation: chance.pick([0, 0, chance.below(100_000)]),
      isProrated: !chance.once(4),
    })

    const makeLevel = async (above: string, name: string, prices: Prices): Promise<Level> => {
      const { id } = must(await operator.put(above, { name }))
      const path = `/v2/accounts/${id}`
      must(await operator.put(`${path}/reseller`, {}))
      const plan = must(await operator.put(`${above}/service_plans`, { name: 'Seats', plan: planAt(prices) }))
      must(await operator.post(`${path}/services`, { add: [plan.id] }))
      return { path, prices, charged: [], spent: 0, balance: 0, unbilled: 0 }
    }

    const begin = async (number: number): Promise<History> => {
      const chance = createChance(seed + part * 100_003 + number)
      const name = `${engine} ${part} ${number}`
      const top = await makeLevel(world.master.path, `Top ${name}`, newPrices(chance))
      const middle = await makeLevel(top.path, `Middle ${name}`, newPrices(chance))
      const low = await makeLevel(middle.path, `Low ${name}`, newPrices(chance))
      const user = { first_name: 'A', last_name: 'B', priv_level: 'admin' }
      const { id: adminId } = must(await operator.put(`${low.path}/users`, user))
      return {
        chance,
        customer: low.path,
        adminId,
        admin: operator,
        levels: [low, middle, top],
        users: [],
      }
    }

    const reprice = async (level: Level, prices: Prices) => {
      must(await operator.post(`${level.path}/services/overrides`, { plan: planAt(prices) }))
      level.prices = prices
    }

    const dueOf = ({ prices: { rate, isProrated } }: Level) => (isProrated ? left(rate) : 0)

    const costOf = (level: Level) => ({
      today: level.prices.activation + dueOf(level),
      monthly: level.prices.rate,
    })

    const todayIn = ({ data }: Answer) =>
      sum((data as { summary: { today: number } }[]).map(({ summary }) => unitsOf(summary.today)))

    const bought = ({ levels, users }: History, id: string) => {
      for (const level of levels) {
        const { today } = costOf(level)
        const { rate, isProrated } = level.prices
        if (isProrated && rate > 0) {
          level.charged.length = users.length
          level.charged.push({ rate, isPromised: true })
        }
        level.spent += dueOf(level)
        level.balance -= today
        level.unbilled += today
      }
      users.push(id)
    }

    /** Asks for the price, which may change before it is accepted. */
    const buy = async (history: History) => {
      const { admin, chance, customer, levels } = history
      const [low] = levels
      const send = (envelope: Json = {}) =>
        admin.put(`${customer}/users`, { first_name: 'A', last_name: 'B' }, { envelope })
      const first = await send()
      const shown = costOf(low)
      if (shown.today === 0 && shown.monthly === 0) {
        expect(first.status).toBe(201)
        return bought(history, first.data.id)
      }
      expect([first.status, todayIn(first)]).toEqual([402, shown.today])
      if (chance.once(2)) await reprice(low, newPrices(chance))
      const now = costOf(low)
      const named = chance.once(2) ? { quote_id: first.body.quote_id as string } : {}
      const second = await send({ accept_charges: true, ...named })
      const isCovered = now.today <= shown.today && now.monthly <= shown.monthly
      expect(second.status).toBe(isCovered ? 201 : 402)
      if (isCovered) return bought(history, second.data.id)
      expect(todayIn(second)).toBe(now.today)
      const third = await send({ accept_charges: true })
      expect(third.status).toBe(201)
      bought(history, third.data.id)
    }

    const drop = async (history: History) => {
      const { admin, chance, customer, levels, users } = history
      if (users.length === 0) return
      const [id] = users.splice(chance.below(users.length), 1)
      expect(await admin.delete(`${customer}/users/${id}`)).toSucceed()
      for (const level of levels) {
        const { rate, isProrated } = level.prices
        const { rate: then, isPromised } = level.charged[users.length] ?? { rate: 0, isPromised: false }
        const back = isPromised || isProrated ? Math.min(left(then), level.spent) : 0
        if (back > 0 || (isProrated && rate > 0))
          level.charged.length = Math.min(level.charged.length, users.length)
        level.spent -= back
        level.balance += back
        level.unbilled -= back
      }
    }

    const pay = async ({ chance, levels }: History) => {
      const level = chance.pick(levels)
      const units = 1 + chance.below(Math.max(10, -level.balance))
      const source = { service: 'payments', id: `payment ${++booked}` }
      const usage = { type: 'cash', quantity: 1, unit: 'note' }
      must(await operator.put(`${level.path}/ledgers/credit`, { source, usage, amount: dollars(units) }))
      level.balance += units
    }

    const steps = [
      buy,
      buy,
      buy,
      drop,
      drop,
      pay,
      ({ chance, levels }: History) => reprice(chance.pick(levels), newPrices(chance)),
    ]

    const live = async (history: History) => {
      history.admin = world.clientWithToken(
        await world.tokenOf({ id: history.customer.slice('/v2/accounts/'.length) } as never, history.adminId),
      )
      for (let step = 0; step < 4; step += 1) await history.chance.pick(steps)(history)
    }

    const checkBalances = async (histories: readonly History[]) => {
      const rows = await world.server.store.all<{ account_id: string; units: number }>(
        'SELECT account_id, units FROM ledger_balances',
      )
      const units = new Map(rows.map((row) => [`/v2/accounts/${row.account_id}`, row.units]))
      const levels = histories.flatMap((history) => history.levels)
      expect(levels.map(({ path }) => [path, units.get(path) ?? 0])).toEqual(
        levels.map(({ path, balance }) => [path, balance]),
      )
    }

    const checkInvoices = async ({ path, balance, unbilled }: Level) => {
      const rows = must(await operator.get(`${path}/invoices`)) as unknown as Json[]
      const invoices = await Promise.all(
        rows.toReversed().map(async ({ id }) => must(await operator.get(`${path}/invoices/${id}`))),
      )
      for (const { status, amount_due } of invoices) if (status === 'paid') expect(amount_due).toBe(0)
      const open = invoices.filter(({ status }) => status === 'open')
      // Later debts do not explain why an invoice is unpaid.
      const unpaid = open.map((_, at) => {
        const newer = open.slice(at + 1).map(({ amount_due }) => unitsOf(amount_due))
        return -balance > sum(newer) + Math.max(0, unbilled)
      })
      expect([path, unpaid]).toEqual([path, open.map(() => true)])
      const now = Math.floor(world.clock.now() / 1000) + 62_167_219_200
      if (open.some(({ due }) => due <= now)) return
      const standing = must(await operator.get(`${path}/services/status`))
      expect([path, standing]).toEqual([path, { in_good_standing: true }])
    }

    const bill = ({ levels, users }: History) => {
      for (const level of levels) {
        const { rate, isProrated } = level.prices
        const month = rate * users.length
        level.charged = rate > 0 ? users.map(() => ({ rate, isPromised: isProrated })) : []
        level.spent = month
        level.balance -= month
        level.unbilled = 0
      }
    }

    const pass = async (histories: readonly History[], isMonth: boolean) => {
      const now = new Date(world.clock.now())
      const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
      const days = isMonth ? next - world.clock.now() : 6 * 24 * 3_600_000
      world.clock.advance({ milliseconds: days })
      operator = world.clientWithToken(await world.tokenOf(world.master, world.operator.id))
      await runJobs('monthly_bills', 'dunning', 'dunning')
      if (new Date(world.clock.now()).getUTCMonth() !== now.getUTCMonth()) histories.forEach(bill)
    }

    it(
      'charge what was shown, give back what was charged and pay the oldest invoice first',
      async () => {
        operator = world.operator
        await runJobs('monthly_bills')
        const histories: History[] = []
        for (let number = 0; number < perStore; number += 1) histories.push(await begin(number))
        for (let period = 0; period < periods; period += 1) {
          if (period > 0) await pass(histories, period % 2 === 0)
          await Promise.all(histories.map(live))
          await runJobs('dunning', 'dunning', 'dunning')
          await checkBalances(histories)
        }
        await Promise.all(histories.flatMap(({ levels }) => levels.map(checkInvoices)))
        const uneven = await world.server.store.all(
          'SELECT entry_id FROM ledger_postings GROUP BY account_id, entry_id HAVING sum(amount) <> 0',
        )
        expect(uneven).toEqual([])
      },
      limitMs,
    )
  })

describe.each(Array.from({ length: stores }, (_, part) => part))('', suite)
