import type { CdrRow } from './columns.ts'

// What a call costs those above the account whose call it is: they alone see that.

const beginnings = 'base_cost|rate_cost|(?:internal|carrier|supplier|provider)_'

const costKey =
  /^(?:base_cost|rate_cost|(?:internal|carrier|supplier|provider)_\w*(?:cost|rate|price|surcharge|billing)\w*|reseller_(?!id$)\w+)$/

/** Whether a field of this name says what a call costs others than the account. */
export const tellsCost = (key: string) => costKey.test(key)

/** The beginnings of such names, as a part of a regular expression, where a quote stands before and behind a name. */
export const costBeginnings = `${beginnings}|reseller_(?!id")`

const perMinute = 'per_minute'

/** Whether only the reseller pays for the minutes of a call: its price is none of the account's business. */
export const isPricedForReseller = ({
  account_billing,
  reseller_billing,
}: Pick<CdrRow, 'account_billing' | 'reseller_billing'>) =>
  reseller_billing === perMinute && account_billing !== perMinute

/** The same in the store; true or false, never NULL. */
export const isPricedForResellerSql = `(COALESCE(reseller_billing, '') = '${perMinute}' AND COALESCE(account_billing, '') <> '${perMinute}')`

const priceKeys: ReadonlySet<string> = new Set([
  'rate',
  'rate_name',
  'rate_id',
  'rate_description',
  'ratedeck_id',
  'rate_increment',
  'rate_minimum',
  'rate_nocharge_time',
  'surcharge',
  'exact_rate',
  'exact_surcharge',
  'discount_percentage',
])

/** Whether a field is part of the price of a call. */
export const tellsPrice = (key: string) => priceKeys.has(key)
