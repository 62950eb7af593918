// A dry run returns what a task would charge. The creator of a task may refuse to pay.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import type { Client } from '../support/world/client.ts'
import { createNumberTasks } from '../support/world/number-tasks.ts'
import { allowAdditions } from '../support/world/numbers.ts'
import { rowsOf, runTask } from '../support/world/task-runs.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

// 27 of 31 days are left in the world's month.
const prorated = { rate: 31, prorate: { additions: true, removals: true } }

describeAnyEngine('what a task charges', (engine) => {
  const world = useWorld(engine, allowAdditions)
  const { create, fresh, run } = createNumberTasks(world)

  const sell = async (by: Client, seller: TestAccount, buyer: TestAccount, plan: Json) => {
    const made = await by.put(`${seller.path}/service_plans`, { name: 'Plan', plan })
    expect(await by.post(`${buyer.path}/services`, { add: [made.data.id] })).toSucceed()
  }

  const customerOf = async (reseller: TestAccount, by: Client, plan: Json) => {
    const account = await world.account(reseller)
    await world.operator.patch(account.path, { wnm_allow_additions: true })
    await sell(by, reseller, account, plan)
    await world.credit(account, 10_000)
    return account
  }

  const customer = (plan: Json) => customerOf(world.reseller, world.ross, plan)

  const balanceOf = async ({ path }: TestAccount): Promise<number> =>
    (await world.operator.get(`${path}/ledgers/total`)).data.amount

  const monthlyOf = async ({ path }: TestAccount): Promise<number> => {
    const { data } = await world.operator.get(`${path}/services/summary`)
    return (data.invoices as { summary: { recurring: number } }[]).reduce(
      (sum, { summary }) => sum + summary.recurring,
      0,
    )
  }

  const standingOf = async (account: TestAccount) => ({
    account: account.id,
    balance: await balanceOf(account),
    monthly: await monthlyOf(account),
  })

  interface Told {
    account_id: string
    today: number
    recurring: number
    invoices: { summary: Json }[]
  }

  const toldOf = ({ task }: { task: { charges: Told[] } }) =>
    task.charges
      .map(({ account_id, today, recurring }) => ({ account_id, today, recurring }))
      .sort((a, b) => a.account_id.localeCompare(b.account_id))

  const csvOf = (rows: readonly (readonly string[])[]) =>
    `e164,account_id\n${rows.map((row) => row.join(',')).join('\n')}\n`

  const dry = { dry_run: 'true' }

  /**
   * Runs the action dry, which charges nothing, then really. The real charges must equal those of the dry run,
   * which it returns.
   */
  const runTwice = async (action: string, csv: string, payers: readonly TestAccount[]) => {
    const before = await Promise.all(payers.map(standingOf))
    const told = await run(action, csv, world.ross, world.reseller, dry)
    expect(await Promise.all(payers.map(standingOf))).toEqual(before)
    const real = await run(action, csv, world.ross, world.reseller)
    expect(real.task).not.toHaveProperty('charges')
    expect(real.output).toEqual(told.output)
    const after = await Promise.all(payers.map(standingOf))
    const charged = before.map(({ account, balance, monthly }, at) => ({
      account_id: account,
      today: balance - (after[at]?.balance ?? 0),
      recurring: (after[at]?.monthly ?? 0) - monthly,
    }))
    expect(toldOf(told)).toEqual(
      charged
        .filter(({ today, recurring }) => today !== 0 || recurring !== 0)
        .sort((a, b) => a.account_id.localeCompare(b.account_id)),
    )
    return toldOf(told)
  }

  it('is shown to the cent by a dry run, by paying account, and is charged by the real run alone', async () => {
    const reseller = world.reseller
    await sell(world.operator, world.master, reseller, {
      number_carriers: { _all: { ...prorated, rate: 15.5, cascade: true } },
    })
    await world.credit(reseller, 10_000)
    const free = { discounts: { cumulative: { maximum: 3, rate: 31 } } }
    const generous = await customer({ number_carriers: { _all: { ...prorated, ...free } } })
    const dear = await customer({ number_carriers: { _all: { rate: 2.5, activation_charge: 10 } } })
    const unpriced = await world.account(reseller)
    await create(generous)
    // More than one transaction holds; one number comes twice, one row is bad.
    const rows = Array.from({ length: 50 }, (_, at) => {
      const { id } = [generous, dear, unpriced][at % 3] as TestAccount
      return [fresh(), id]
    })
    const doubled = [...rows, rows[3] as string[], ['nonsense', generous.id], [fresh(), '']]
    const payers = [generous, dear, reseller]
    const told = await runTwice('import', csvOf(doubled), payers)
    // Of 1 there were and 17 more three are free; the reseller pays for all 51.
    expect(told).toEqual(
      [
        { account_id: generous.id, today: 15 * 27, recurring: 15 * 31 },
        { account_id: dear.id, today: 170, recurring: 17 * 2.5 },
        { account_id: reseller.id, today: 51 * 13.5, recurring: 51 * 15.5 },
      ].sort((a, b) => a.account_id.localeCompare(b.account_id)),
    )
    // Moves inside the reseller do not change its charges.
    const moving = rows.filter(([, id]) => id === dear.id).map(([number]) => [number as string, generous.id])
    expect(await runTwice('assign_to', csvOf(moving), payers)).toEqual(
      [
        { account_id: generous.id, today: 17 * 27, recurring: 17 * 31 },
        { account_id: dear.id, today: 0, recurring: -17 * 2.5 },
      ].sort((a, b) => a.account_id.localeCompare(b.account_id)),
    )
    // The last of them are given back for the rest of the month.
    const going = moving.slice(0, 5).map(([number]) => `${number}\n`)
    expect(await runTwice('release', `e164\n${going.join('')}`, payers)).toEqual(
      [
        { account_id: generous.id, today: -5 * 27, recurring: -5 * 31 },
        { account_id: reseller.id, today: -5 * 13.5, recurring: -5 * 15.5 },
      ].sort((a, b) => a.account_id.localeCompare(b.account_id)),
    )
  })

  it('gives back no more than was charged this month', async () => {
    const account = await world.account(world.reseller)
    const numbers = [await create(account), await create(account), await create(account)]
    await sell(world.ross, world.reseller, account, { number_carriers: { _all: prorated } })
    await world.operator.patch(account.path, { wnm_allow_additions: true })
    await world.credit(account, 10_000)
    const bought = fresh()
    const { task } = await run('import', csvOf([[bought, account.id]]), world.ross, world.reseller)
    expect(task).toMatchObject({ status: 'success' })
    const csv = `e164\n${[...numbers, bought].join('\n')}\n`
    const told = await runTwice('release', csv, [account, world.reseller])
    expect(told).toContainEqual({ account_id: account.id, today: -27, recurring: -4 * 31 })
  })

  it('gives back what was charged by a plan that the account no longer has', async () => {
    const account = await customer({ number_carriers: { _all: prorated } })
    const bought = fresh()
    await run('import', csvOf([[bought, account.id]]), world.ross, world.reseller)
    const { plans } = (await world.ross.get(`${account.path}/services`)).data
    const removed = { delete: Object.keys(plans) }
    expect(await world.ross.post(`${account.path}/services`, removed)).toSucceed()
    const told = await runTwice('release', `e164\n${bought}\n`, [account, world.reseller])
    expect(told).toContainEqual({ account_id: account.id, today: -27, recurring: 0 })
  })

  it('is agreed to for a row that replaces what was never charged by something at the same price', async () => {
    const account = await customer({})
    const number = await create(account, { prepend: { enabled: true, name: 'Old' } })
    await sell(world.ross, world.reseller, account, {
      number_services: { prepend: prorated, ringback: prorated },
    })
    const admin = await world.admin(account)
    const before = await balanceOf(account)
    const csv = `e164,prepend.name,prepend.enabled,ringback.early\n${number},,,early-media\n`
    const shown = await run('update_overwrite', csv, admin, account, dry)
    expect(toldOf(shown)).toEqual([{ account_id: account.id, today: 27, recurring: 0 }])
    const quoted = { quote_id: String(shown.task.id) }
    const real = await run('update_overwrite', csv, admin, account, quoted)
    expect(real.task).toMatchObject({ status: 'success', success_count: 1 })
    expect(await balanceOf(account)).toBe(before - 27)
  })

  it('is shown with the invoices that the 402 would show', async () => {
    const account = await customer({ number_carriers: { _all: { ...prorated, activation_charge: 5 } } })
    const admin = await world.admin(account)
    const number = fresh()
    const { task } = await run('import', csvOf([[number, '']]), admin, account, dry)
    const asked = await admin.put(`${account.path}/phone_numbers/${encodeURIComponent(number)}`, {})
    expect(asked).toMatchObject({ status: 402 })
    expect(task.charges).toEqual([
      { account_id: account.id, name: account.name, today: 32, recurring: 31, invoices: asked.data },
    ])
  })

  it('is shown to each reader for the accounts that it may see', async () => {
    const reseller = await world.account(world.master)
    await world.operator.put(`${reseller.path}/reseller`, {})
    await world.operator.patch(reseller.path, { wnm_allow_additions: true })
    await sell(world.operator, world.master, reseller, {
      number_carriers: { _all: { rate: 1, cascade: true } },
    })
    const seller = await world.admin(reseller)
    const account = await customerOf(reseller, seller, { number_carriers: { _all: { rate: 2 } } })
    const made = await run('import', csvOf([[fresh(), '']]), seller, account, dry)
    const seenBy = async (by: Client) =>
      ((await by.get(made.path)).body.metadata.charges as Told[]).map(({ account_id }) => account_id).sort()
    expect(await seenBy(seller)).toEqual([account.id, reseller.id].sort())
    expect(await seenBy(await world.admin(account))).toEqual([account.id])
  })

  it('is empty where no account has prices, and is not computed where nothing can cost anything', async () => {
    const account = await world.account(world.master)
    await world.operator.patch(account.path, { wnm_allow_additions: true })
    const csv = csvOf([[fresh(), '']])
    const { task } = await run('import', csv, world.operator, account, dry)
    expect(task).toMatchObject({ status: 'success', charges: [] })
    expect(task).not.toHaveProperty('accept_charges')
    const found = await run('find', `e164\n${fresh()}\n`, world.operator, account)
    expect(found.task).not.toHaveProperty('accept_charges')
  })

  const wish = (by: Client, { path }: TestAccount, csv: string) => ({
    by,
    path,
    category: 'number_management',
    action: 'import',
    csv,
  })

  it('is accepted by the creator of the task, unless it opts out: then rows that would charge fail', async () => {
    const free = { discounts: { cumulative: { maximum: 2, rate: 31 } } }
    const account = await customer({ number_carriers: { _all: { ...prorated, ...free } } })
    const admin = await world.admin(account)
    const before = await balanceOf(account)
    const numbers = [fresh(), fresh(), fresh(), fresh()]
    const csv = csvOf(numbers.map((number) => [number, '']))
    const refused = await runTask({ ...wish(admin, account, csv), start: { accept_charges: 'false' } })
    expect(refused.task).toMatchObject({ status: 'partial', accept_charges: false, success_count: 2 })
    expect(rowsOf(refused.output).map(({ e164, error }) => [e164, error])).toEqual([
      [numbers[0], ''],
      [numbers[1], ''],
      [numbers[2], 'accept_charges'],
      [numbers[3], 'accept_charges'],
    ])
    expect(await standingOf(account)).toEqual({ account: account.id, balance: before, monthly: 0 })
    const again = await admin.put(`${refused.path}/retry`)
    const path = `${account.path}/tasks/${again.body.metadata.id}`
    expect((await admin.patch(path)).body.metadata).toMatchObject({ accept_charges: true })
    await expect
      .poll(async () => (await admin.get(path)).body.metadata)
      .toMatchObject({ status: 'success', success_count: 2 })
    expect(await standingOf(account)).toEqual({ account: account.id, balance: before - 54, monthly: 62 })
  })

  it('is no more than the dry run showed that the task names', async () => {
    const account = await customer({ number_carriers: { _all: { rate: 1 } } })
    const admin = await world.admin(account)
    const priceAt = (rate: number) =>
      world.ross.post(`${account.path}/services/overrides`, { plan: { number_carriers: { _all: { rate } } } })
    const csv = csvOf([[fresh(), '']])
    const shown = await run('import', csv, admin, account, dry)
    await priceAt(500)
    const quoted = { query: { quote_id: String(shown.task.id) } }
    const dearer = await runTask({ ...wish(admin, account, csv), ...quoted })
    expect(dearer.task).toMatchObject({ status: 'failure', success_count: 0 })
    expect(rowsOf(dearer.output).map(({ error }) => error)).toEqual(['accept_charges'])
    const retried = await admin.put(`${shown.path}/retry`, undefined, { query: { dry_run: 'false' } })
    expect(retried).toFailWith(404, 'bad_identifier')
    expect(await monthlyOf(account)).toBe(0)
    await priceAt(0.5)
    const cheaper = await runTask({ ...wish(admin, account, csv), ...quoted })
    expect(cheaper.task).toMatchObject({ status: 'success', success_count: 1 })
    expect(await monthlyOf(account)).toBe(0.5)
  })

  it('is stored however large the price lists of the account are', async () => {
    const account = await customer({ number_carriers: { _all: { rate: 1 } } })
    for (const category of ['first', 'second', 'third']) {
      const items = Array.from({ length: 6 }, (_, at) => [`item${at}`, { name: 'x'.repeat(128), rate: 1 }])
      await sell(world.ross, world.reseller, account, { [category]: Object.fromEntries(items) })
    }
    const admin = await world.admin(account)
    const csv = csvOf([[fresh(), '']])
    await world.configure('quotas', { record_bytes: 3000 })
    const shown = await run('import', csv, admin, account, dry)
    expect(shown.task).toMatchObject({ status: 'success', charges: [{ account_id: account.id }] })
    const agreed = await run('import', csv, admin, account, { quote_id: String(shown.task.id) })
    expect(agreed.task).toMatchObject({ status: 'success', success_count: 1 })
    const current = await run('import', csvOf([[fresh(), '']]), admin, account)
    expect(current.task).toMatchObject({ status: 'success', success_count: 1 })
  })

  it('is that of a finished dry run of the same account, or the task is refused', async () => {
    const account = await customer({ number_carriers: { _all: { rate: 1 } } })
    const body = Buffer.from(csvOf([[fresh(), '']]))
    const make = (more: Record<string, string>) =>
      world.ross.put(`${account.path}/tasks`, undefined, {
        query: { category: 'number_management', action: 'import', ...more },
        body,
        headers: { 'content-type': 'text/csv' },
      })
    const notStarted = String((await make(dry)).body.metadata.id)
    for (const quote of ['f'.repeat(32), notStarted]) {
      const refused = await world.refused(() => make({ quote_id: quote }))
      const message = 'Must be the id of a finished dry run of this account that reports charges'
      expect(refused.status).toBe(400)
      expect(refused.data).toEqual({ quote_id: { invalid: { message, value: quote } } })
    }
    const empty = await world.refused(() => make({ quote_id: '' }))
    expect([empty.status, empty.data]).toEqual([
      400,
      { quote_id: { type: { message: 'Must be the id of a finished dry run', value: '' } } },
    ])
  })
})
