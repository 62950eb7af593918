// The charges of each manner of pricing, line by line, and the rules of all price lists.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Rate } from '../../src/areas/billing/rates/schema.ts'
import {
  type ItemPlan,
  type ItemPlans,
  type PlanDoc,
  PlanOverrides,
  ServicePlan,
} from '../../src/areas/billing/services/plans/schema.ts'
import {
  comparedJson,
  compareInvoices,
  invoiceJson,
  priceAccount,
  raisesCharge,
} from '../../src/areas/billing/services/pricing/invoices.ts'
import { itemJson, priceItem, quantityOf } from '../../src/areas/billing/services/pricing/items.ts'
import { type AssignedPlan, mergePlans } from '../../src/areas/billing/services/pricing/merge.ts'
import { Quantities } from '../../src/areas/billing/services/schema.ts'
import { isObject } from '../../src/lib/json.ts'

const moment = Date.UTC(2026, 10, 21)

const tiers = { rate: 2, rates: { 10: 5, 25: 4 } }
const flat = { rate: 2, flat_rates: { 5: 20, 20: 50 } }
const tieredDiscount = { rate: 2, rates: { 4: 0.5, 10: 0.75 } }

const cases: readonly (readonly [number, number, ItemPlan, number, number, number, number])[] = [
  [1, 7, { rate: 4.25 }, 7, 4.25, 0, 29.75],
  [2, 2, { rate: 4.25, minimum: 5 }, 5, 4.25, 0, 21.25],
  [3, 0, { rate: 4.25, minimum: 5 }, 5, 4.25, 0, 21.25],
  [4, 12, { rate: 4.25, maximum: 8 }, 8, 4.25, 0, 34],
  [5, 11, { rate: 3, step: 5 }, 15, 3, 0, 45],
  [6, 3, { rate: 3, step: 5, minimum: 7 }, 10, 3, 0, 30],
  [7, 11, { rate: 3, step: 5, maximum: 8 }, 10, 3, 0, 30],
  [8, 10, tiers, 10, 5, 0, 50],
  [9, 11, tiers, 11, 4, 0, 44],
  [10, 26, tiers, 26, 2, 0, 52],
  [11, 14, flat, 1, 50, 0, 50],
  [12, 21, flat, 21, 2, 0, 42],
  [13, 0, flat, 1, 20, 0, 20],
  [14, 9, { rate: 2, flat_rate: 30 }, 1, 30, 0, 30],
  [15, 4, { rate: 6, discounts: { single: { rate: 2.5 } } }, 4, 6, 2.5, 21.5],
  [16, 4, { rate: 6, discounts: { single: {} } }, 4, 6, 6, 18],
  [17, 0, { rate: 6, discounts: { single: { rate: 2.5 } } }, 0, 6, 0, 0],
  [18, 8, { rate: 6, discounts: { cumulative: { rate: 1 } } }, 8, 6, 0, 48],
  [19, 8, { rate: 6, discounts: { cumulative: { rate: 1, maximum: 5 } } }, 8, 6, 5, 43],
  [20, 3, { rate: 6, discounts: { cumulative: { rate: 1, maximum: 5 } } }, 3, 6, 3, 15],
  [21, 8, { rate: 6, discounts: { cumulative: { maximum: 5 } } }, 8, 6, 30, 18],
  [22, 8, { rate: 6, discounts: { cumulative: { maximum: 8, ...tieredDiscount } } }, 8, 6, 6, 42],
  [23, 8, { rate: 6, discounts: { cumulative: { maximum: 3, ...tieredDiscount } } }, 8, 6, 1.5, 46.5],
  [24, 3, { rate: 6, discounts: { cumulative: { maximum: 5, rate: 1, minimum: 4 } } }, 3, 6, 0, 18],
  [25, 8, { rates: { 100: 6 }, discounts: { cumulative: { maximum: 5, rate: 1 } } }, 8, 6, 0, 48],
  [
    26,
    10,
    { rate: 5, discounts: { single: { rate: 3 }, cumulative: { maximum: 4, rate: 1.5 } } },
    10,
    5,
    9,
    41,
  ],
  [
    27,
    9,
    { rate: 2, flat_rate: 30, discounts: { single: { rate: 4 }, cumulative: { maximum: 9, rate: 1 } } },
    1,
    30,
    5,
    25,
  ],
  [28, 0, { rate: 6, minimum: 3, discounts: { cumulative: { maximum: 10, rate: 1 } } }, 3, 6, 3, 15],
]

const counted = (
  account: Record<string, number>,
  cascade: Record<string, number> = {},
  manual: Record<string, number> = {},
) => ({
  account: { devices: account },
  cascade: { devices: cascade },
  manual: { devices: manual },
})

const fallback = { id: 'default_bookkeeper', type: 'default', vendor_id: 'reseller' }
const priorities = { simple: 10, recursive: 25, cumulative: 50 }

const assigned = (id: string, doc: PlanDoc, overrides?: PlanDoc): AssignedPlan => ({
  id,
  vendorId: 'reseller',
  doc,
  ...(overrides ? { overrides } : {}),
})

const onDevices = (items: Record<string, ItemPlan>): ItemPlans => ({ devices: items })

const priced = (items: Record<string, ItemPlan>, counts: ReturnType<typeof counted>) => {
  const lists = mergePlans([assigned('plan', { plan: onDevices(items) })], {}, fallback, priorities)
  return priceAccount(lists, counts)
}

describe('the price of an item', () => {
  it.each(cases)('is as in line %i of the table', (_, quantity, plan, billable, rate, discount, total) => {
    const line = itemJson(priceItem({ category: 'devices', item: 'sip_device', plan, quantity }))
    expect({ ...line, discount: line.discount ?? 0 }).toMatchObject({
      quantity,
      billable,
      rate,
      discount,
      total,
    })
  })

  it('counts what is below only when the plan cascades, and manual numbers instead of the own ones', () => {
    const counts = counted({ sip_device: 3 }, { sip_device: 5 })
    expect(quantityOf(counts, 'devices', 'sip_device', { rate: 2, cascade: true })).toBe(8)
    expect(quantityOf(counts, 'devices', 'sip_device', { rate: 2 })).toBe(3)
    for (const name of ['constructor', 'toString', '__proto__']) {
      expect(quantityOf(counts, 'devices', name, { rate: 2, cascade: true })).toBe(0)
      expect(quantityOf(counts, name, 'sip_device', { rate: 2, cascade: true })).toBe(0)
      expect(quantityOf(counts, name, '_all', { rate: 2, cascade: true })).toBe(0)
    }
    const manual = counted({ sip_device: 3 }, { sip_device: 5 }, { sip_device: 1 })
    expect(quantityOf(manual, 'devices', 'sip_device', { rate: 2, cascade: true })).toBe(6)
  })

  it('of all items of a category leaves the exceptions out', () => {
    const counts = counted({ sip_device: 4, softphone: 2, landline: 3 })
    const all = { exceptions: ['landline'], rate: 1.5, as: 'endpoint' }
    const [invoice] = priced({ _all: all }, counts)
    expect(invoice && invoiceJson(invoice)).toEqual({
      items: [
        {
          category: 'devices',
          item: 'endpoint',
          name: 'devices',
          quantity: 6,
          billable: 6,
          rate: 1.5,
          prorate: { additions: false, removals: false },
          taxes: [],
          total: 9,
        },
      ],
      activation_charges: [],
      prorations: [],
      taxes: [],
      summary: { today: 0, recurring: 9 },
      plan: { devices: { _all: all } },
      bookkeeper: fallback,
    })
    const [both] = priced({ _all: all, sip_device: { rate: 10 } }, counts)
    expect(both?.recurring).toBe(490_000)
  })
})

describe('a change', () => {
  const plan = { sip_device: { rate: 4, activation_charge: 12.5 } }
  const between = (items: Record<string, ItemPlan>, before: number, after: number) => {
    const [compared] = compareInvoices(
      priced(items, counted({ sip_device: before })),
      priced(items, counted({ sip_device: after })),
      moment,
    )
    if (!compared) throw new Error('no invoice')
    return compared
  }

  it('charges the activation of what is added', () => {
    const compared = between(plan, 2, 5)
    expect(comparedJson(compared)).toEqual({
      items: [
        {
          category: 'devices',
          item: 'sip_device',
          name: 'devices/sip_device',
          quantity: 5,
          billable: 5,
          rate: 4,
          prorate: { additions: false, removals: false },
          taxes: [],
          total: 20,
          changes: { type: 'modified', difference: { quantity: 3, billable: 3 } },
        },
      ],
      activation_charges: [
        {
          category: 'devices',
          item: 'sip_device',
          name: 'devices/sip_device',
          quantity: 3,
          billable: 3,
          rate: 12.5,
          total: 37.5,
        },
      ],
      prorations: [],
      taxes: [],
      summary: { today: 37.5, recurring: 20 },
      plan: { devices: plan },
      bookkeeper: fallback,
    })
    expect(raisesCharge(compared)).toBe(true)
  })

  it('below the minimum charges nothing', () => {
    const compared = between({ sip_device: { ...plan.sip_device, minimum: 5 } }, 2, 4)
    expect(compared.today).toBe(0)
    expect(raisesCharge(compared)).toBe(false)
  })

  it('that takes away charges nothing and is reported', () => {
    const compared = between(plan, 5, 2)
    expect(raisesCharge(compared)).toBe(false)
    expect(comparedJson(compared).items[0]?.changes).toEqual({
      type: 'modified',
      difference: { quantity: -3, billable: -3 },
    })
  })

  it('to a dearer flat tier is announced although the billable quantity stays one', () => {
    expect(raisesCharge(between({ sip_device: flat }, 5, 6))).toBe(true)
  })

  it('shows lines that are added or removed', () => {
    const one = priced({ sip_device: { rate: 2 } }, counted({ sip_device: 3, ata: 1 }))
    const other = priced({ ata: { rate: 1 } }, counted({ sip_device: 3, ata: 1 }))
    const [compared] = compareInvoices(one, other, moment).map(comparedJson)
    expect(compared?.items.map(({ item, quantity, changes }) => [item, quantity, changes])).toEqual([
      ['ata', 1, { type: 'created', difference: { quantity: 1, billable: 1, rate: 1 } }],
      ['sip_device', 0, { type: 'removed', difference: { quantity: -3, billable: -3, rate: -2 } }],
    ])
    expect(compareInvoices(one, [], moment).map(comparedJson)[0]?.summary).toEqual({ today: 0, recurring: 0 })
  })
})

type Found = [path: string, minimum: unknown][]

/** The numbers that a JSON Schema describes, and what they are at least. */
const numbersOf = (schema: unknown, path: readonly string[] = []): Found => {
  if (!isObject(schema)) return []
  const isNumber = schema.type === 'number' || schema.type === 'integer'
  const inside = Object.entries(schema).flatMap(([key, inner]) => numbersOf(inner, [...path, key]))
  return isNumber
    ? [[path.filter((key) => key !== 'properties').join('.'), schema.minimum], ...inside]
    : inside
}

describe('what prices, discounts and counts are made of', () => {
  // Ranks of plans, and limits, of which -1 is none, are no part of a price.
  const isPart = ([path]: Found[number]) => !/^(merge|limits)\.\w+$/.test(path)

  it.each(Object.entries({ ServicePlan, PlanOverrides, Quantities, Rate }))(
    'is not negative in %s',
    (_, schema) => {
      const parts = numbersOf(schema).filter(isPart)
      expect(parts.length).toBeGreaterThan(0)
      expect(parts.filter(([, minimum]) => !(Number(minimum) >= 0))).toEqual([])
    },
  )
})

describe('plans of one account', () => {
  const a = {
    rate: 5,
    minimum: 2,
    discounts: { cumulative: { maximum: 3 } },
    rates: { 10: 4 },
    taxes: [
      { name: 'Sales tax', rate: 5 },
      { name: 'City tax', rate: 1 },
    ],
  }
  const b = {
    rate: 6,
    minimum: 1,
    discounts: { cumulative: { maximum: 2 } },
    rates: { 5: 5.5 },
    cascade: true,
    taxes: [{ name: 'VAT', rate: 20 }],
  }
  const mergedBy = (strategy: 'simple' | 'recursive' | 'cumulative') => {
    const plan = (item: ItemPlan, priority: number): PlanDoc => ({
      plan: onDevices({ sip_device: item }),
      merge: { strategy, priority },
    })
    const lists = mergePlans(
      [assigned('b', plan(b, 20)), assigned('a', plan(a, 10))],
      {},
      fallback,
      priorities,
    )
    return lists.map(({ plan: items }) => items.devices?.sip_device)
  }

  it('merged cumulatively add up counts and put tiers together', () => {
    expect(mergedBy('cumulative')).toEqual([
      {
        rate: 6,
        minimum: 3,
        discounts: { cumulative: { maximum: 5 } },
        rates: { 5: 5.5, 10: 4 },
        cascade: true,
        taxes: [{ name: 'VAT', rate: 20 }],
      },
    ])
  })

  it('merged simply take the whole item from the highest', () => {
    expect(mergedBy('simple')).toEqual([b])
  })

  it('merged recursively take each key from the highest that has it', () => {
    expect(mergedBy('recursive')).toEqual([{ ...b, rates: { 5: 5.5, 10: 4 } }])
  })

  it('are overridden by the account, and before that by the assignment', () => {
    const doc = { plan: onDevices({ sip_device: { rate: 5 } }) }
    const override = (rate: number) => ({ plan: onDevices({ sip_device: { rate } }) })
    const rateOf = (plan: AssignedPlan) =>
      mergePlans([plan], override(7), fallback, priorities)[0]?.plan.devices?.sip_device?.rate
    expect(rateOf(assigned('plan', doc, override(9)))).toBe(9)
    expect(rateOf(assigned('plan', doc))).toBe(7)
  })

  it('of two bookkeepers make two invoices', () => {
    const other = { id: 'other', type: 'http', vendor_id: 'reseller' }
    const doc = { plan: onDevices({ sip_device: { rate: 5 } }) }
    const lists = mergePlans(
      [assigned('one', doc), assigned('two', { ...doc, bookkeeper: { id: 'other', type: 'http' } })],
      {},
      fallback,
      priorities,
    )
    expect(
      priceAccount(lists, counted({ sip_device: 1 })).map(({ bookkeeper, recurring }) => [
        bookkeeper,
        recurring,
      ]),
    ).toEqual([
      [fallback, 50_000],
      [other, 50_000],
    ])
  })

  it('come to the same whatever their order, and to no less than nothing', () => {
    const dollars = fc.integer({ min: 0, max: 10_000_000 }).map((units) => units / 10_000)
    const item = fc.record(
      {
        rate: dollars,
        minimum: fc.nat(20),
        maximum: fc.nat(40),
        step: fc.integer({ min: 1, max: 7 }),
        rates: fc.dictionary(fc.nat(50).map(String), dollars, { maxKeys: 3 }),
        flat_rate: dollars,
        cascade: fc.boolean(),
        discounts: fc.record(
          {
            single: fc.record({ rate: dollars }, { requiredKeys: [] }),
            cumulative: fc.record(
              {
                rate: dollars,
                maximum: fc.nat(40),
                rates: fc.dictionary(fc.nat(50).map(String), dollars, { maxKeys: 3 }),
              },
              { requiredKeys: [] },
            ),
          },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: [] },
    )
    const plan = fc.record({
      plan: fc.dictionary(
        fc.constantFrom('devices', 'users'),
        fc.dictionary(fc.constantFrom('a', 'b', '_all'), item),
      ),
      merge: fc.record({
        strategy: fc.constantFrom('simple', 'recursive', 'cumulative'),
        priority: fc.nat(3),
      }),
    })
    fc.assert(
      fc.property(fc.array(plan, { maxLength: 5 }), fc.nat(30), (plans, count) => {
        const all = plans.map((doc, index) => assigned(`plan${index}`, doc as PlanDoc))
        const counts = { account: { devices: { a: count, b: 2 } }, cascade: { users: { a: 3 } }, manual: {} }
        const bill = (list: readonly AssignedPlan[]) =>
          priceAccount(mergePlans(list, {}, fallback, priorities), counts)
        const summary = (list: readonly AssignedPlan[]) =>
          bill(list).map(({ recurring, items }) => [
            recurring,
            items.map((line) => JSON.stringify(itemJson(line))).toSorted(),
          ])
        expect(summary(all.toReversed())).toEqual(summary(all))
        for (const { recurring, items } of bill(all)) {
          expect(Number.isSafeInteger(recurring)).toBe(true)
          expect(items.reduce((sum, { total }) => sum + total, 0)).toBe(recurring)
          for (const { billable, rate, discount, total } of items) {
            expect(total).toBe(billable * rate - discount)
            expect(Math.min(total, discount)).toBeGreaterThanOrEqual(0)
          }
        }
      }),
    )
  })
})
