// Rates as rows of a CSV: what a cell may hold, and the rate that a row tells.

import { daySeconds } from '../../../lib/gregorian.ts'
import { sameJson } from '../../../lib/json.ts'
import { memberOf } from '../../../lib/member.ts'
import { compilePattern } from '../../../lib/pattern.ts'
import { generatedName, generatedWeight, isExactPrice, withRoutes } from './rules.ts'
import type { Rate } from './schema.ts'

/** A row by column name; cells that hold nothing are absent or empty. */
type RateCells = Readonly<Record<string, string | undefined>>

const maxDollars = 1_000_000

const isWhole = (from: number, to: number) => (cell: string) =>
  /^\d{1,15}$/.test(cell) && Number(cell) >= from && Number(cell) <= to
const isPrice = (cell: string) =>
  /^\d{0,7}(?:\.\d+)?$/.test(cell) && /\d/.test(cell) && Number(cell) <= maxDollars && isExactPrice(cell)
const isShort = (cell: string) => cell.length <= 256
const isDirection = (cell: string) => cell === 'inbound' || cell === 'outbound'

/** Texts of a cell: a JSON list, or one text; options also with commas between them. */
const textsIn = (cell: string): unknown[] => {
  if (!cell.startsWith('[')) return [cell]
  try {
    const value: unknown = JSON.parse(cell)
    return Array.isArray(value) ? value : [cell]
  } catch {
    return [cell]
  }
}

const routesIn = (cell: string) => textsIn(cell).map(String)
const optionsIn = (cell: string) =>
  textsIn(cell).flatMap((one) => (cell.startsWith('[') ? String(one) : String(one).split(',')))

/** What a cell that is not empty must be like, by column. */
export const cellVerifiers: Readonly<Record<string, (cell: string) => boolean>> = {
  prefix: isWhole(1, 999_999_999_999_999),
  rate_cost: isPrice,
  rate_surcharge: isPrice,
  internal_rate_cost: isPrice,
  rate_increment: isWhole(1, daySeconds),
  rate_minimum: isWhole(1, daySeconds),
  rate_nocharge_time: isWhole(0, daySeconds),
  weight: isWhole(1, 100),
  direction: isDirection,
  routes: (cell) => {
    const routes = routesIn(cell)
    return routes.length > 0 && routes.length <= 100 && routes.every((one) => !compilePattern(one).problem)
  },
  options: (cell) => optionsIn(cell).length <= 100 && optionsIn(cell).every((one) => one.length <= 128),
  caller_id_numbers: (cell) => /^[0-9+:]{1,4096}$/.test(cell),
  ratedeck_id: (cell) => /^[A-Za-z0-9_.-]{1,64}$/.test(cell),
  account_id: (cell) => /^[0-9a-f]{32}$/.test(cell),
  carrier: isShort,
  description: (cell) => cell.length <= 4096,
  iso_country_code: (cell) => cell.length <= 16,
  rate_name: isShort,
  rate_suffix: isShort,
  rate_version: isShort,
}

const numeric = new Set([
  'prefix',
  'rate_cost',
  'rate_surcharge',
  'internal_rate_cost',
  'rate_increment',
  'rate_minimum',
  'rate_nocharge_time',
  'weight',
])

const lists: Readonly<Record<string, (cell: string) => string[]>> = {
  direction: (cell) => [cell],
  routes: routesIn,
  options: optionsIn,
}

const valueIn = (column: string, cell: string) => {
  if (numeric.has(column)) return Number(cell)
  return lists[column]?.(cell) ?? cell
}

/** The fields that a row of verified cells gives. Cells of other columns are no part of a rate. */
export const fieldsIn = (cells: RateCells): Partial<Rate> => {
  const given = Object.entries(cells).flatMap(([column, cell]) =>
    cell && column in cellVerifiers ? [[column, valueIn(column, cell)]] : [],
  )
  return Object.fromEntries(given)
}

/** A row that a rate can be made of: its mandatory cells are filled. */
export type RateFields = Partial<Rate> & Pick<Rate, 'prefix' | 'rate_cost'>

/** What a rate is for, as a text. Rates that agree in it are one rate with another price. */
export const identityOf = (rate: RateFields): string => {
  const { ratedeck_id: deck, prefix, direction = [], options = [] } = rate
  const { iso_country_code: country, carrier, account_id: reseller, caller_id_numbers: callers } = rate
  const { routes, rate_name: name = generatedName(rate) } = withRoutes(rate)
  const parts = [
    deck,
    prefix,
    direction.toSorted(),
    country,
    name,
    carrier,
    reseller,
    callers,
    options,
    routes,
  ]
  return JSON.stringify(parts.map((part) => part ?? null))
}

const defaults = { rate_increment: 60, rate_minimum: 60, rate_surcharge: 0, rate_nocharge_time: 0 }

/** A rate that a row brings for the first time. */
export const newRate = (fields: RateFields): Rate => {
  const rate = withRoutes({ ...defaults, ...fields })
  return {
    ...rate,
    rate_name: rate.rate_name ?? generatedName(rate),
    weight: rate.weight ?? generatedWeight(rate),
  }
}

/** A rate with what a row says of it. A weight that came from the price follows it. */
export const mergedRate = (before: Rate, fields: RateFields): Rate => {
  const rate = { ...before, ...fields }
  const wasGenerated = before.weight === undefined || before.weight === generatedWeight(before)
  return fields.weight === undefined && wasGenerated ? { ...rate, weight: generatedWeight(rate) } : rate
}

/** Whether a rate has every value that a row gives. */
export const hasFields = (rate: Rate, fields: Partial<Rate>): boolean =>
  Object.entries(fields).every(([key, value]) => sameJson(memberOf(rate, key), value))

const cellFrom = (value: unknown) => (Array.isArray(value) ? JSON.stringify(value) : value)

/** A rate as a row that an import would understand. Both directions are the same as none. */
export const rowOf = ({ direction = [], ...rate }: Rate): Record<string, unknown> => ({
  ...Object.fromEntries(Object.entries(rate).map(([key, value]) => [key, cellFrom(value)])),
  ...(direction.length === 1 ? { direction: direction[0] } : {}),
})
