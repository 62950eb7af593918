// Charges for something that failed are refunded: all of them in the end, never more, in whole units.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { givenBack, type LedgerEntryRow } from '../../src/areas/billing/ledgers/rules.ts'

let made = 0

const entry = (service: string, amount: number, details: LedgerEntryRow['details']): LedgerEntryRow => {
  made += 1
  return {
    id: `entry ${made}`,
    created: 0,
    madeAt: 0,
    ordinal: made,
    source: { service, id: 'request/phone_numbers/did_us' },
    usage: { type: 'phone_numbers', quantity: 1, unit: 'did_us' },
    amount,
    availableBefore: 0,
    details,
  }
}

const counting = { category: 'phone_numbers', item: '_all', exceptions: ['emergency'] }

const gone = (count: number, item = 'did_us') => [{ category: 'phone_numbers', item, delta: -count }]

const goesBack = (entries: LedgerEntryRow[], count: number, item?: string) => {
  const back = givenBack(entries, gone(count, item))
  for (const { charge, amount, units } of back)
    entries.push(entry(charge.source.service, amount, { givesBack: { entry: charge.id, units } }))
  return back.map(({ amount }) => amount)
}

describe('what is given back', () => {
  it('is what was charged for it, with its taxes', () => {
    const entries = [entry('services', -300, { agreed: { counting, units: 3 } }), entry('taxes', -60, {})]
    expect(goesBack(entries, 1)).toEqual([100, 20])
    expect(goesBack(entries, 2)).toEqual([200, 40])
    expect(goesBack(entries, 1)).toEqual([])
  })

  it('is nothing for what the charge was not about', () => {
    const entries = [entry('services', -300, { agreed: { counting, units: 3 } })]
    expect(goesBack(entries, 1, 'emergency')).toEqual([])
    expect(givenBack(entries, [{ category: 'users', item: 'did_us', delta: -1 }])).toEqual([])
  })

  it('comes to what was charged, however it is divided, and never to more', () => {
    const history = fc.record({
      charges: fc.array(
        fc.record({ amount: fc.integer({ min: 1, max: 2 ** 50 }), units: fc.integer({ min: 1, max: 40 }) }),
        { minLength: 1, maxLength: 4 },
      ),
      tax: fc.nat(10 ** 12),
      steps: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 30 }),
    })
    fc.assert(
      fc.property(history, ({ charges, tax, steps }) => {
        const entries = charges.map(({ amount, units }) =>
          entry('services', -amount, { agreed: { counting, units } }),
        )
        if (tax > 0) entries.push(entry('taxes', -tax, {}))
        const left = () => entries.reduce((sum, { amount }) => sum + amount, 0)
        for (const step of steps) {
          const back = goesBack(entries, step)
          expect(back.every((amount) => Number.isSafeInteger(amount) && amount > 0)).toBe(true)
          expect(left()).toBeLessThanOrEqual(0)
        }
        goesBack(entries, 200)
        expect(left()).toBe(0)
      }),
    )
  })
})
