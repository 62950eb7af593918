import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ItemPlan, Tax } from '../../src/areas/billing/services/plans/schema.ts'
import {
  comparedJson,
  compareInvoices,
  invoiceJson,
  priceAccount,
} from '../../src/areas/billing/services/pricing/invoices.ts'
import { addedBy, holdsFor, taxed, taxTotals } from '../../src/areas/billing/services/pricing/plan.ts'
import type { TaxStatus } from '../../src/areas/billing/services/schema.ts'

const vat: Tax = { name: 'VAT', rate: 20, tax_id: 'vat' }
const inside: Tax = { ...vat, inclusive: true }

const amounts = (price: number, ...taxes: Tax[]) => {
  const { net, taxes: lines } = taxed(price, taxes)
  return [net, ...lines.map(({ amount }) => amount)]
}

describe('the taxes on a price', () => {
  it('are added to it, each for itself on the net', () => {
    expect(amounts(100_000, vat, { name: 'City', rate: 1.5 })).toEqual([100_000, 20_000, 1500])
  })

  it('are taken out of it when it contains them', () => {
    expect(amounts(120_000, inside)).toEqual([100_000, 20_000])
    expect(amounts(100, { ...inside, rate: 19 })).toEqual([84, 16])
  })

  it('that it contains are not taxed by those that are added', () => {
    expect(amounts(120_000, inside, { name: 'City', rate: 10 })).toEqual([100_000, 20_000, 10_000])
  })

  it('that it contains share the rest above the net, to the unit', () => {
    const third = (name: string) => ({ name, rate: 10, inclusive: true })
    expect(amounts(14, third('a'), third('b'), third('c'))).toEqual([11, 1, 1, 1])
    expect(amounts(13, third('a'), third('b'))).toEqual([11, 1, 1])
    expect(amounts(5, third('a'), third('b'))).toEqual([4, 1, 0])
  })

  it('have rates of four decimals, and are rounded once, half away from zero', () => {
    expect(amounts(1_000_000, { name: 'a', rate: 8.8755 })).toEqual([1_000_000, 88_755])
    expect(amounts(10, { name: 'a', rate: 5 })).toEqual([10, 1])
    expect(amounts(-10, { name: 'a', rate: 5 })).toEqual([-10, -1])
    expect(amounts(9, { name: 'a', rate: 5 })).toEqual([9, 0])
  })

  it('of no per cent are listed with the amount 0', () => {
    expect(amounts(7, { ...inside, rate: 0 })).toEqual([7, 0])
    expect(amounts(0, vat, inside)).toEqual([0, 0, 0])
  })
})

describe('a tax holds', () => {
  const californian = { ...vat, jurisdiction: 'US-CA' }
  const federal = { ...vat, jurisdiction: 'US' }

  it.each<[string, Tax, TaxStatus, boolean]>([
    ['everywhere without a jurisdiction', vat, {}, true],
    ['in its jurisdiction', californian, { jurisdiction: 'US-CA' }, true],
    ['in all parts of its jurisdiction', federal, { jurisdiction: 'US-CA' }, true],
    ['not in a larger jurisdiction', californian, { jurisdiction: 'US' }, false],
    ['not in a neighbouring jurisdiction', californian, { jurisdiction: 'US-NV' }, false],
    [
      'not where a name only begins alike',
      { ...vat, jurisdiction: 'US-C' },
      { jurisdiction: 'US-CA' },
      false,
    ],
    ['not for an account without a location', federal, {}, false],
    ['not for an exempt account', vat, { exempt: true }, false],
    ['for an account that is not exempt', vat, { exempt: false }, true],
    ['not for an account that is exempt from it', vat, { exempt: ['gst', 'vat'] }, false],
    ['for an account that is exempt from others', vat, { exempt: ['gst', 'VAT'] }, true],
    [
      'not for an account that is exempt from it by its name, which is its id',
      { name: 'City', rate: 1 },
      { exempt: ['City'] },
      false,
    ],
  ])('%s', (_, tax, standing, holds) => {
    expect(holdsFor(tax, standing)).toBe(holds)
  })
})

const bookkeeper = { id: 'default_bookkeeper', type: 'default', vendor_id: 'reseller' }

const priced = (items: Record<string, ItemPlan>, counts: Record<string, number>, tax: TaxStatus = {}) => {
  const counted = { account: { devices: counts }, cascade: {}, manual: {} }
  const [invoice] = priceAccount([{ bookkeeper, plan: { devices: items }, tax }], counted)
  if (!invoice) throw new Error('no invoice')
  return invoice
}

describe('an invoice with taxes', () => {
  const items = {
    sip_device: { rate: 10, activation_charge: 5, taxes: [vat] },
    ata: { rate: 12, taxes: [inside, { name: 'CA', rate: 7.25, jurisdiction: 'US-CA' }] },
  }
  const row = { name: 'VAT', tax_id: 'vat', rate: 20 }
  const california = { name: 'CA', tax_id: 'CA', jurisdiction: 'US-CA', rate: 7.25, inclusive: false }

  it('shows them on each line, and lists each once', () => {
    const plain = { prorate: { additions: false, removals: false }, quantity: 1, billable: 1 }
    const invoice = priced(items, { sip_device: 1, ata: 1 }, { jurisdiction: 'US-CA' })
    expect(invoiceJson(invoice)).toEqual({
      items: [
        {
          category: 'devices',
          item: 'sip_device',
          name: 'devices/sip_device',
          ...plain,
          rate: 10,
          taxes: [{ ...row, inclusive: false, base: 10, amount: 2 }],
          total: 10,
        },
        {
          category: 'devices',
          item: 'ata',
          name: 'devices/ata',
          ...plain,
          rate: 12,
          taxes: [
            { ...row, inclusive: true, base: 10, amount: 2 },
            { ...california, base: 10, amount: 0.725 },
          ],
          total: 12,
        },
      ],
      activation_charges: [],
      prorations: [],
      taxes: [
        { ...row, inclusive: false, base: 10, amount: 2 },
        { ...row, inclusive: true, base: 10, amount: 2 },
        { ...california, base: 10, amount: 0.725 },
      ],
      summary: { today: 0, recurring: 22, taxes: 2.725, total: 24.725 },
      plan: { devices: items },
      bookkeeper,
    })
  })

  it('leaves out those that do not hold, and prices stay what they are', () => {
    const {
      items: lines,
      summary,
      taxes,
    } = invoiceJson(priced(items, { sip_device: 1, ata: 1 }, { exempt: true }))
    expect(lines.map(({ total, taxes: none }) => [total, none])).toEqual([
      [10, []],
      [12, []],
    ])
    expect([summary, taxes]).toEqual([{ today: 0, recurring: 22 }, []])
  })

  it('says what of a tax is due at once', () => {
    const [compared] = compareInvoices(
      [priced(items, { sip_device: 1 })],
      [priced(items, { sip_device: 3 })],
      0,
    )
    if (!compared) throw new Error('no invoice')
    const { summary, taxes, activation_charges: activations } = comparedJson(compared)
    expect(summary).toEqual({ today: 12, recurring: 30, taxes: 6, total: 36 })
    expect(taxes[0]).toEqual({
      ...row,
      inclusive: false,
      base: 30,
      amount: 6,
      today: { base: 10, amount: 2 },
    })
    expect(activations[0]?.taxes).toEqual([{ ...row, inclusive: false, base: 10, amount: 2 }])
  })

  it('shows when other taxes apply than before', () => {
    const [compared] = compareInvoices(
      [priced(items, { sip_device: 1 })],
      [priced(items, { sip_device: 1 }, { jurisdiction: 'US-CA', exempt: ['vat'] })],
      0,
    )
    expect(compared && comparedJson(compared).items.map(({ changes }) => changes)).toEqual([
      {
        type: 'modified',
        difference: { taxes: { additions: [], removals: [{ ...row, inclusive: false }] } },
      },
      {
        type: 'modified',
        difference: { taxes: { additions: [california], removals: [{ ...row, inclusive: true }] } },
      },
    ])
  })
})

describe('whatever the price and the taxes', () => {
  const rate = fc.integer({ min: 0, max: 1_000_000 }).map((parts) => parts / 10_000)
  const tax: fc.Arbitrary<Tax> = fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    rate,
    inclusive: fc.boolean(),
  })
  const taxes = fc.array(tax, { maxLength: 6 })
  const price = fc.integer({ min: -(10 ** 14), max: 10 ** 14 })

  it('net and contained taxes are the price, to the unit, and every sum is whole', () => {
    fc.assert(
      fc.property(price, taxes, (gross, all) => {
        const { net, taxes: lines } = taxed(gross, all)
        const contained = lines.filter((line) => line.tax.inclusive)
        expect(contained.reduce((sum, { amount }) => sum + amount, net)).toBe(gross)
        for (const { base, amount } of lines) {
          expect(base).toBe(net)
          expect(Number.isSafeInteger(amount)).toBe(true)
          expect(Math.sign(amount) * Math.sign(gross)).toBeGreaterThanOrEqual(0)
        }
      }),
    )
  })

  it('each tax is its share of the net, off by less than a unit when added, by two at most when contained', () => {
    fc.assert(
      fc.property(fc.integer({ min: -(10 ** 9), max: 10 ** 9 }), taxes, (gross, all) => {
        const inner = all.filter(({ inclusive }) => inclusive).reduce((sum, one) => sum + one.rate, 0)
        for (const { tax: one, base, amount } of taxed(gross, all).taxes) {
          const exact = one.inclusive ? (gross * one.rate) / (100 + inner) : (base * one.rate) / 100
          expect(Math.abs(amount - exact)).toBeLessThanOrEqual(one.inclusive ? 2 : 0.5 + 1e-6)
        }
      }),
    )
  })

  it('what is given back is what was taken', () => {
    fc.assert(
      fc.property(price, taxes, (gross, all) => {
        const taken = taxed(gross, all)
        const given = taxed(-gross, all)
        expect(taken.net + given.net).toBe(0)
        expect(taken.taxes.map(({ amount }, at) => amount + (given.taxes[at]?.amount ?? Number.NaN))).toEqual(
          all.map(() => 0),
        )
      }),
    )
  })

  it('totals are the sums of their lines', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(price, taxes), { maxLength: 8 }), (prices) => {
        const lines = prices.flatMap(([gross, all]) => taxed(gross, all).taxes)
        const sum = (of: typeof lines) => of.reduce((all, { amount }) => all + amount, 0)
        expect(sum(taxTotals(lines))).toBe(sum(lines))
        expect(addedBy(taxTotals(lines))).toBe(addedBy(lines))
      }),
    )
  })
})
