import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dueMonthly, dueToday } from '../../src/areas/billing/services/agreed.rules.ts'
import type { ItemPlan } from '../../src/areas/billing/services/plans/schema.ts'
import {
  comparedJson,
  compareInvoices,
  priceAccount,
  raisesCharge,
} from '../../src/areas/billing/services/pricing/invoices.ts'
import { itemJson, priceItem } from '../../src/areas/billing/services/pricing/items.ts'
import { type ChargedItem, daysLeftAt, prorated } from '../../src/areas/billing/services/pricing/proration.ts'
import { countOf } from '../support/run/run-length.ts'

const both = { additions: true, removals: true }
const bookkeeper = { id: 'default_bookkeeper', type: 'default', vendor_id: 'reseller' }
const lastThird = Date.UTC(2026, 10, 21, 12)

const priced = (items: Record<string, ItemPlan>, count: number) =>
  priceAccount([{ bookkeeper, plan: { devices: items } }], {
    account: { devices: { sip_device: count } },
    cascade: {},
    manual: {},
  })

const moved = (plan: ItemPlan, before: number, after: number, moment = lastThird, then = plan) => {
  const [compared] = compareInvoices(
    priced({ sip_device: plan }, before),
    priced({ sip_device: then }, after),
    moment,
  )
  if (!compared) throw new Error('no invoice')
  return compared
}

describe('the days left of a month', () => {
  it.each([
    ['2026-11-01T00:00:00.000Z', 30, 30],
    ['2026-11-21T23:59:59.999Z', 10, 30],
    ['2026-11-30T23:59:59.999Z', 1, 30],
    ['2026-12-31T00:00:00.000Z', 1, 31],
    ['2028-02-29T12:00:00.000Z', 1, 29],
    ['2027-02-01T12:00:00.000Z', 28, 28],
    ['2027-01-01T00:00:00.000Z', 31, 31],
  ])('at %s are %i of %i: the day itself is counted, in UTC', (moment, days, daysInMonth) => {
    expect(daysLeftAt(Date.parse(moment))).toEqual({ days, daysInMonth })
  })
})

describe('proration', () => {
  it('charges the rise of a line for the days that are left', () => {
    const plan = { rate: 4, activation_charge: 12.5, prorate: { additions: true } }
    const compared = moved(plan, 2, 5)
    const { prorations, summary } = comparedJson(compared)
    expect(prorations).toEqual([
      {
        category: 'devices',
        item: 'sip_device',
        name: 'devices/sip_device',
        quantity: 3,
        billable: 3,
        rate: 4,
        recurring: 12,
        days: 10,
        days_in_month: 30,
        total: 4,
      },
    ])
    expect(summary).toEqual({ today: 41.5, recurring: 20 })
    expect(raisesCharge(compared)).toBe(true)
  })

  it('gives back the fall of a line alike', () => {
    const compared = moved({ rate: 4, prorate: both }, 5, 2)
    expect(comparedJson(compared)).toMatchObject({
      prorations: [{ quantity: -3, billable: -3, recurring: -12, total: -4 }],
      summary: { today: -4, recurring: 8 },
    })
    expect(raisesCharge(compared)).toBe(false)
  })

  it('is of what the line comes to, tiers and discounts included, not of what is counted', () => {
    const tiered = { rate: 2, flat_rates: { 5: 20, 20: 50 }, prorate: both }
    expect(moved(tiered, 4, 5).prorations).toEqual([])
    expect(moved(tiered, 5, 6).today).toBe(100_000)
    expect(moved({ rate: 3, minimum: 5, prorate: both }, 1, 4).prorations).toEqual([])
  })

  it.each<[string, ItemPlan, number, number]>([
    ['without it', { rate: 4 }, 1, 2],
    ['of additions only, to removals', { rate: 4, prorate: { additions: true } }, 2, 1],
    ['of removals only, to additions', { rate: 4, prorate: { removals: true } }, 1, 2],
    [
      'of removals only, to removals: what was added was not charged',
      { rate: 4, prorate: { removals: true } },
      2,
      1,
    ],
    ['that is off', { rate: 4, prorate: { additions: false, removals: false } }, 1, 2],
  ])('does nothing in plans %s', (_, plan, before, after) => {
    expect(moved(plan, before, after)).toMatchObject({ prorations: [], today: 0 })
  })

  it('ignores lines with a new or another price', () => {
    expect(moved({ rate: 4, prorate: both }, 1, 2, lastThird, { rate: 5, prorate: both }).today).toBe(0)
    const later = priced({ sip_device: { rate: 4, prorate: both } }, 3)
    expect(compareInvoices([], later, lastThird).map(({ today }) => today)).toEqual([0])
    expect(compareInvoices(later, [], lastThird).map(({ today }) => today)).toEqual([0])
  })

  it('is shown on an item as it applies', () => {
    const shown = (prorate: ItemPlan['prorate']) =>
      itemJson(priceItem({ category: 'devices', item: 'ata', plan: prorate ? { prorate } : {}, quantity: 1 }))
        .prorate
    expect(shown(undefined)).toEqual({ additions: false, removals: false })
    expect(shown({ additions: true })).toEqual({ additions: true, removals: false })
    expect(shown({ removals: true })).toEqual({ additions: false, removals: false })
    expect(shown(both)).toEqual(both)
  })

  it('is taxed as its item is', () => {
    const taxes = [
      { name: 'VAT', rate: 20, tax_id: 'vat' },
      { name: 'Fund', rate: 25, inclusive: true },
    ]
    const plan = { rate: 7.5, prorate: both, taxes }
    const vat = { name: 'VAT', tax_id: 'vat', rate: 20, inclusive: false }
    const fund = { name: 'Fund', tax_id: 'Fund', rate: 25, inclusive: true }
    const { prorations, summary } = comparedJson(moved(plan, 0, 1))
    expect(prorations).toMatchObject([
      {
        total: 2.5,
        taxes: [
          { ...vat, base: 2, amount: 0.4 },
          { ...fund, base: 2, amount: 0.5 },
        ],
      },
    ])
    expect(summary).toEqual({ today: 2.9, recurring: 7.5, taxes: 1.2, total: 8.7 })
    expect(moved(plan, 1, 0).today).toBe(-29_000)
  })
})

describe('what removals give back', () => {
  // Prices that a third of a month divides.
  const rate = fc.nat(30).map((price) => 3 * price)
  const plan = fc.record({ rate, minimum: fc.nat(6) }, { requiredKeys: ['rate'] })
  const step = fc.record({ plan, more: fc.nat(12) })

  it('is all that was charged, whatever the prices were, when everything that came goes the same day', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), fc.nat(12), (steps, start) => {
        let count = start
        let known: ChargedItem = { amount: 0, prices: [] }
        for (const next of [...steps, { plan: { rate: 50 }, more: 0 }]) {
          const priceBy = (of: number) => priced({ sip_device: { ...next.plan, prorate: both } }, of)
          const compared = compareInvoices(priceBy(count), priceBy(start + next.more), lastThird, () => known)
          for (const { total, prices } of compared.flatMap((one) => one.prorations)) {
            known = { amount: known.amount + total, prices }
            expect(known.amount).toBeGreaterThanOrEqual(0)
          }
          count = start + next.more
        }
        expect(known.amount).toBe(0)
      }),
      { numRuns: countOf(300, 10_000) },
    )
  })

  it('is never a charge, although fewer at the tiers that were charged may cost more', () => {
    const charged: ItemPlan = { rates: { 9: 10, 10: 1 }, prorate: both }
    const [was, now] = [priced({ sip_device: charged }, 10), { rate: 5, prorate: both }]
    const known: ChargedItem = {
      amount: 100_000,
      prices: [
        { from: 0, to: 9, plan: charged },
        { from: 9, to: 10, plan: charged },
      ],
    }
    expect(was.map(({ recurring }) => recurring)).toEqual([100_000])
    const back = compareInvoices(
      priced({ sip_device: now }, 10),
      priced({ sip_device: now }, 9),
      lastThird,
      () => known,
    )
    expect(back.map(({ today }) => today)).toEqual([0])
  })

  it('is the present price of what was charged before prices were stored, and no more than was charged', () => {
    const plan = { rate: 30, prorate: both }
    const back = (amount: number) =>
      compareInvoices(priced({ sip_device: plan }, 3), priced({ sip_device: plan }, 1), lastThird, () => ({
        amount,
      })).map(({ today }) => today)
    expect(back(1_000_000)).toEqual([-200_000])
    expect(back(150_000)).toEqual([-150_000])
    expect(back(0)).toEqual([0])
  })
})

describe('the lines that are due', () => {
  const taxes = [{ name: 'VAT', rate: 20, tax_id: 'vat', jurisdiction: 'US' }]
  const plan = { rate: 6, as: 'seat', activation_charge: 5, prorate: both, taxes }
  const list = { bookkeeper, plan: { devices: { _all: plan } }, tax: { jurisdiction: 'US-CA' } }
  const of = (count: number) =>
    priceAccount([list], { account: { devices: { ata: count } }, cascade: {}, manual: {} })
  const row = { name: 'VAT', tax_id: 'vat', jurisdiction: 'US', rate: 20, inclusive: false }
  const tax = { usage: { type: 'taxes', quantity: 1, unit: 'vat' }, description: 'VAT 20% (US)' }

  it('at once name the ledger, what is counted and why', () => {
    const [compared] = compareInvoices(of(1), of(3), lastThird)
    expect(compared && dueToday(compared)).toEqual([
      {
        service: 'services',
        key: 'devices/_all',
        usage: { type: 'devices', quantity: 2, unit: 'seat' },
        amount: 100_000,
        description: 'Activation of 2 devices',
      },
      {
        service: 'prorations',
        key: 'devices/_all',
        usage: { type: 'devices', quantity: 2, unit: 'seat' },
        amount: 40_000,
        description: '2 devices for 10 of 30 days',
        metadata: { days: 10, days_in_month: 30 },
      },
      {
        service: 'taxes',
        key: 'taxes/["vat","US",20,false]',
        ...tax,
        amount: 28_000,
        metadata: { ...row, base: 14, amount: 2.8 },
      },
    ])
  })

  it('of a month are its services and each tax that is added', () => {
    expect(of(2).map((invoice) => dueMonthly(invoice, 202612))).toEqual([
      [
        {
          service: 'services',
          key: 'month',
          usage: { type: 'services', quantity: 1, unit: 'month' },
          amount: 120_000,
          description: 'Services of 202612',
        },
        {
          service: 'taxes',
          key: 'taxes/["vat","US",20,false]',
          ...tax,
          amount: 24_000,
          metadata: { ...row, base: 12, amount: 2.4 },
        },
      ],
    ])
  })
})

describe('whatever the plan and the moment', () => {
  const dollars = fc.integer({ min: 0, max: 10_000_000_000 }).map((units) => units / 10_000)
  const tax = fc.record(
    {
      name: fc.constantFrom('a', 'b', 'c'),
      rate: fc.integer({ min: 0, max: 1_000_000 }).map((parts) => parts / 10_000),
      inclusive: fc.boolean(),
    },
    { requiredKeys: ['name', 'rate'] },
  )
  const plan = fc.record(
    {
      rate: dollars,
      minimum: fc.nat(20),
      maximum: fc.nat(40),
      step: fc.integer({ min: 1, max: 7 }),
      rates: fc.dictionary(fc.nat(50).map(String), dollars, { maxKeys: 3 }),
      flat_rates: fc.dictionary(fc.nat(50).map(String), dollars, { maxKeys: 3 }),
      activation_charge: dollars,
      discounts: fc.record({ cumulative: fc.record({ rate: dollars, maximum: fc.nat(30) }) }),
      taxes: fc.array(tax, { maxLength: 4 }),
    },
    { requiredKeys: [] },
  )
  const moment = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2100, 0) })
  const count = fc.nat(60)

  it('the sum of steps within a day is the whole step, up to a unit', () => {
    const rise = fc.integer({ min: -(10 ** 14), max: 10 ** 14 })
    fc.assert(
      fc.property(rise, rise, moment, (a, b, at) => {
        const left = daysLeftAt(at)
        const steps = prorated(a, left) + prorated(b, left)
        expect(Math.abs(steps - prorated(a + b, left))).toBeLessThanOrEqual(1)
        expect(Math.abs(prorated(a, left))).toBeLessThanOrEqual(Math.abs(a))
      }),
    )
  })

  it('a line that moves in two steps within a day is charged as one that moves in one, up to a unit', () => {
    fc.assert(
      fc.property(plan, count, count, count, moment, (item, a, b, c, at) => {
        const whole = { ...item, prorate: both, taxes: [], activation_charge: 0 }
        const steps = moved(whole, a, b, at).today + moved(whole, b, c, at).today
        expect(Math.abs(steps - moved(whole, a, c, at).today)).toBeLessThanOrEqual(1)
      }),
    )
  })

  it('what is taken away on the day it was added gives back what was charged, with its taxes', () => {
    fc.assert(
      fc.property(plan, count, count, moment, (item, before, after, at) => {
        const whole = { ...item, prorate: both, activation_charge: 0 }
        expect(moved(whole, before, after, at).today + moved(whole, after, before, at).today).toBe(0)
      }),
    )
  })

  it('adding and taking away by any steps is never worth more than a unit a step', () => {
    const prorate = fc.record({ additions: fc.boolean(), removals: fc.boolean() })
    fc.assert(
      fc.property(plan, prorate, fc.array(count, { minLength: 2 }), moment, (item, flags, counts, at) => {
        const round = [...counts, counts[0] ?? 0]
        const whole = { ...item, prorate: flags, taxes: [] }
        const charged = round.slice(1).reduce((sum, next, index) => {
          return sum + moved(whole, round[index] ?? 0, next, at).today
        }, 0)
        expect(charged).toBeGreaterThanOrEqual(-counts.length)
      }),
    )
  })

  it('sums are whole and are those of their lines, and what is due is what is shown', () => {
    fc.assert(
      fc.property(plan, count, count, moment, (item, before, after, at) => {
        const compared = moved({ ...item, prorate: both }, before, after, at)
        const { activations, prorations, taxesToday, today, after: invoice } = compared
        const added = [...activations, ...prorations].flatMap(({ taxes }) =>
          taxes.filter((line) => !line.tax.inclusive).map(({ amount }) => amount),
        )
        const lines = [...activations, ...prorations].map(({ total }) => total)
        expect([...lines, ...added].reduce((sum, amount) => sum + amount, 0)).toBe(today)
        const sumOf = (due: readonly { amount: number }[]) => due.reduce((sum, { amount }) => sum + amount, 0)
        expect(sumOf(dueToday(compared))).toBe(today)
        expect(sumOf(dueMonthly(invoice, 202611))).toBe(invoice.total)
        const numbers = [today, invoice.recurring, invoice.total, ...lines, ...added, sumOf(taxesToday)]
        expect(numbers.filter((number) => !Number.isSafeInteger(number))).toEqual([])
        expect(JSON.stringify(comparedJson(compared))).not.toContain('null')
      }),
    )
  })
})
