import { divideRounded } from '../../../lib/money.ts'
import { type Counting, unitsMoved } from '../services/agreed.rules.ts'
import type { Entry } from './rules.ts'

// What was charged at once for something that came to nothing is given back: as much as it was, however prices, plans
// and counts have changed since.

/** A part of a charge that goes back. */
export interface GivenBack {
  charge: Entry
  /** Units of money, positive. */
  amount: number
  /** How many of what was charged for; 0 of a tax. */
  units: number
}

type Gone = Parameters<typeof unitsMoved>[1][number]

const part = (whole: number, of: number, all: number) =>
  Number(divideRounded(BigInt(whole) * BigInt(of), BigInt(all)))

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

const backOf = (entries: readonly Entry[], { id }: Entry) =>
  entries.filter(({ details }) => details.givesBack?.entry === id)

interface Charge {
  entry: Entry
  counting: Counting
  units: number
  /** How much of it went back before. */
  unitsBack: number
  amountBack: number
}

const chargesIn = (entries: readonly Entry[]): Charge[] =>
  entries.flatMap((entry) => {
    const { agreed } = entry.details
    if (!agreed?.counting || entry.amount >= 0 || agreed.units <= 0) return []
    const back = backOf(entries, entry)
    return [
      {
        entry,
        counting: agreed.counting,
        units: agreed.units,
        unitsBack: sum(back.map(({ details }) => details.givesBack?.units ?? 0)),
        amountBack: sum(back.map(({ amount }) => amount)),
      },
    ]
  })

/** A tax goes back as the charges do that it was on. */
const taxesBack = (entries: readonly Entry[], charges: readonly Charge[], going: readonly GivenBack[]) => {
  const charged = sum(charges.map(({ entry }) => -entry.amount))
  const gone = sum(charges.map(({ amountBack }) => amountBack)) + sum(going.map(({ amount }) => amount))
  const taxes = entries.filter(({ source, amount }) => source.service === 'taxes' && amount < 0)
  return taxes.map((charge): GivenBack => {
    const before = sum(backOf(entries, charge).map(({ amount }) => amount))
    return { charge, units: 0, amount: part(-charge.amount, gone, charged) - before }
  })
}

/** What was charged with one act, and what of that went back. Older charges do not say with what they were made. */
export const ofAct = (entries: readonly Entry[], act: string | undefined): readonly Entry[] => {
  const of = (wanted: string | undefined) => entries.filter(({ details }) => details.act === wanted)
  const charges = act === undefined || of(act).length === 0 ? of(undefined) : of(act)
  const ids = new Set(charges.map(({ id }) => id))
  return entries.filter(({ id, details: { givesBack } }) => ids.has(id) || ids.has(givesBack?.entry ?? ''))
}

/** What goes back of the entries of one request, when counts that it had moved go back. Those are negative. */
export const givenBack = (entries: readonly Entry[], gone: readonly Gone[]): GivenBack[] => {
  const charges = chargesIn(entries)
  const left = new Map<string, number>()
  const going = charges.map(({ entry, counting, units, unitsBack, amountBack }): GivenBack => {
    // Several charges of one request for the same thing share what goes.
    const key = JSON.stringify([entry.source, counting])
    const wanted = left.get(key) ?? -unitsMoved(counting, gone)
    const back = Math.max(0, Math.min(wanted, units - unitsBack))
    left.set(key, wanted - back)
    return { charge: entry, units: back, amount: part(-entry.amount, unitsBack + back, units) - amountBack }
  })
  return [...going, ...taxesBack(entries, charges, going)].filter(({ amount }) => amount > 0)
}
