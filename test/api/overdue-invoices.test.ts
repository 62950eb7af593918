// Money pays the oldest invoice first, and an account is delinquent as long as an invoice is overdue.
import { expect, it } from 'vitest'
import { createInvoiceProgress } from '../../src/areas/billing/payments/invoices/dunning.ts'
import { createInvoiceStore } from '../../src/areas/billing/payments/invoices/store.ts'
import type { Json } from '../../src/lib/json.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('invoices that are paid from a balance', (engine) => {
  const world = useWorld(engine, ({ configure }) =>
    configure('services.dunning', { of_balances: true, attempt_days: [], grace_days: 1 }),
  )
  const runJobs = async (...names: string[]) => {
    for (const name of names) await world.server.scheduler.runNow(name)
  }
  const operator = async () => world.clientWithToken(await world.tokenOf(world.master, world.operator.id))

  let made = 0

  /** A customer who pays 10 dollars a month and owes this number of months. The last one is not due yet. */
  const debtor = async (months: number) => {
    await runJobs('monthly_bills')
    const who = await operator()
    const { data: account } = await who.put(world.reseller.path, { name: `Debtor ${++made} ${engine}` })
    const path = `/v2/accounts/${account.id}`
    const plan = { name: 'Phones', plan: { devices: { sip_device: { rate: 10 } } } }
    const { data } = await who.put(`${world.reseller.path}/service_plans`, plan)
    await who.post(`${path}/services`, { add: [data.id] })
    await who.put(`${path}/devices`, { name: 'One' }, { query: { accept_charges: true } })
    for (let month = 0; month < months; month += 1) {
      await runJobs('invoice_mail', 'mail')
      const now = new Date(world.clock.now())
      const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
      world.clock.advance({ seconds: Math.ceil((next - world.clock.now()) / 1000) })
      await runJobs('monthly_bills', 'dunning', 'dunning', 'dunning', 'invoice_mail')
    }
    world.clock.advance({ hours: 48 })
    await runJobs('dunning', 'dunning')
    return path
  }

  let credits = 0
  const credit = async (path: string, amount: number) => {
    const source = { service: 'payments', id: `transfer ${++credits}` }
    const usage = { type: 'cash', quantity: 1, unit: 'note' }
    expect(await (await operator()).put(`${path}/ledgers/credit`, { source, usage, amount })).toSucceed()
  }

  const pay = async (path: string, amount: number) => {
    await credit(path, amount)
    await runJobs('dunning', 'dunning')
  }

  const debit = async (path: string, amount: number) => {
    const source = { service: 'support', id: `hour ${++credits}` }
    const usage = { type: 'work', quantity: 1, unit: 'hour' }
    expect(await (await operator()).put(`${path}/ledgers/debit`, { source, usage, amount })).toSucceed()
  }

  /** Oldest first. */
  const invoicesOf = async (path: string) => {
    const who = await operator()
    const rows = (await who.get(`${path}/invoices`)).data as unknown as Json[]
    const whole = await Promise.all(rows.map(({ id }) => who.get(`${path}/invoices/${id}`)))
    return whole.map(({ data }) => data).reverse()
  }

  const stateOf = async (path: string) =>
    (await invoicesOf(path)).map(({ status, amount_due }) => [status, amount_due])

  const isGood = async (path: string) =>
    (await (await operator()).get(`${path}/services/status`)).data.in_good_standing

  it('are paid one by one, the oldest first, by payments that do not cover all of them', async () => {
    const path = await debtor(3)
    expect(await stateOf(path)).toEqual([
      ['open', 10],
      ['open', 10],
      ['open', 10],
    ])
    expect(await isGood(path)).toBe(false)
    await pay(path, 9)
    expect((await stateOf(path))[0]).toEqual(['open', 10])
    await pay(path, 1)
    expect(await stateOf(path)).toEqual([
      ['paid', 0],
      ['open', 10],
      ['open', 10],
    ])
    expect(await isGood(path)).toBe(false)
    await pay(path, 12)
    expect(await stateOf(path)).toEqual([
      ['paid', 0],
      ['paid', 0],
      ['open', 10],
    ])
    // The last one is not due.
    expect(await isGood(path)).toBe(true)
    await pay(path, 8)
    expect((await stateOf(path))[2]).toEqual(['paid', 0])
  })

  it('cost as many reads, however many of them are unpaid, to find out that one is overdue', async () => {
    const countReads = async (path: string) => {
      const { store, areas } = world.server
      const rows = createInvoiceStore(store)
      const reads: string[] = []
      const counting = new Proxy(rows, {
        get(target, name: keyof typeof rows) {
          reads.push(name)
          return target[name]
        },
      })
      const {
        ledgers,
        services: { bookkeepers },
      } = areas
      const progress = createInvoiceProgress({ store, ledgers, bookkeepers }, counting)
      await progress.restore(new ChangeSet({ requestId: 'test' }), path.split('/')[3] ?? '')
      return reads
    }
    const [few, many] = [await debtor(2), await debtor(5)]
    await credit(many, 30)
    expect(await countReads(many)).toEqual(await countReads(few))
    expect(await isGood(many)).toBe(false)
  })

  it('are paid before debts that came later', async () => {
    const path = await debtor(2)
    await debit(path, 5)
    await pay(path, 20)
    expect(await stateOf(path)).toEqual([
      ['paid', 0],
      ['paid', 0],
    ])
    expect(await isGood(path)).toBe(true)
    expect((await (await operator()).get(`${path}/ledgers/total`)).data).toEqual({ amount: -5 })
  })

  it('that were credited or taken back are overdue no longer', async () => {
    const path = await debtor(3)
    const [first, second] = await invoicesOf(path)
    const who = await operator()
    expect(await who.put(`${path}/invoices/${first?.id}/credit_notes`, {})).toSucceed()
    await runJobs('dunning')
    expect(await isGood(path)).toBe(false)
    expect(await stateOf(path)).toEqual([
      ['paid', 0],
      ['open', 10],
      ['open', 10],
    ])
    expect(await who.post(`${path}/invoices/${second?.id}/void`)).toSucceed()
    expect(await isGood(path)).toBe(true)
    expect(await stateOf(path)).toEqual([
      ['paid', 0],
      ['void', 0],
      ['open', 10],
    ])
  })

  it('are not paid by a credit note for another one', async () => {
    const path = await debtor(2)
    const [, second] = await invoicesOf(path)
    const who = await operator()
    expect(await who.put(`${path}/invoices/${second?.id}/credit_notes`, {})).toSucceed()
    await runJobs('dunning')
    expect(await stateOf(path)).toEqual([
      ['open', 10],
      ['paid', 0],
    ])
    expect(await isGood(path)).toBe(false)
  })

  it('ask an admin who pays a later one for what is missing with those before it', async () => {
    const path = await debtor(2)
    const [, second] = await invoicesOf(path)
    await pay(path, 4)
    const who = await operator()
    const refused = await world.unchanged(() => who.post(`${path}/invoices/${second?.id}/pay`))
    expect(refused).toFailWith(402, 'not_enough_credit', expect.objectContaining({ missing: 16 }))
  })
})
