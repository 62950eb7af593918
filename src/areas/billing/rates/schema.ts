import type { Static } from 'typebox'
import {
  anyText,
  choice,
  integer,
  list,
  multiline,
  must,
  number,
  open,
  text,
  uniqueList,
} from '../../../lib/schema.ts'

// Amounts stay within 15 significant digits: a JSON number then is exactly the decimal that was written.
const maxPrice = 1_000_000
const priceField = (description: string, more: object = {}) =>
  number({ minimum: 0, maximum: maxPrice, description: `${description}; up to eight decimals`, ...more })

const secondsField = (minimum: number, fallback: number, description: string) =>
  integer({ minimum, maximum: 86_400, default: fallback, description })

const RatedeckId = text(1, 64, {
  pattern: '^[A-Za-z0-9_.-]*$',
  description: 'Ratedeck of the rate; default: the default ratedeck',
})

const fields = {
  prefix: must(
    integer({
      minimum: 1,
      maximum: 999_999_999_999_999,
      description: 'Prefix of the numbers: E.164 without the plus',
    }),
  ),
  rate_cost: must(priceField('Price for the customer in dollars per minute')),
  rate_increment: secondsField(1, 60, 'Billing increment in seconds, after the minimum'),
  rate_minimum: secondsField(1, 60, 'Minimum billed seconds of a call'),
  rate_surcharge: priceField('Dollars per call', { default: 0 }),
  rate_nocharge_time: secondsField(0, 0, 'Calls of at most this duration in seconds are free'),
  internal_rate_cost: priceField('Price of the carrier in dollars per minute'),
  weight: integer({
    minimum: 1,
    maximum: 100,
    description: 'If rates have one prefix, the lowest wins; 1 is best',
  }),
  direction: uniqueList(choice(['inbound', 'outbound']), { description: 'Default: both' }),
  routes: list(text(1, 256), {
    maxItems: 100,
    description: 'Regular expressions, one of which the number fits',
  }),
  options: list(text(1, 128), {
    maxItems: 100,
    description: 'Options: calls that need others do not use it',
  }),
  caller_id_numbers: text(0, 4096, {
    pattern: '^[0-9+:]*$',
    description: 'Prefixes of the caller numbers, separated by colons',
  }),
  account_id: anyText({ description: 'Only for the customers of this reseller' }),
  carrier: text(0, 256),
  description: text(0, 4096, multiline),
  iso_country_code: text(0, 16),
  rate_name: text(0, 256),
  rate_suffix: text(0, 256),
  rate_version: text(0, 256),
  ratedeck_id: RatedeckId,
}

const RateId = text(1, 64, { pattern: '^(?!ratedecks$)[A-Za-z0-9_-]*$' })

export const Rate = open(fields, {
  title: 'Rate',
  description: 'The price of calls to numbers with a prefix. Other fields are stored',
})
export type Rate = Static<typeof Rate>

export const NewRate = open({ id: RateId, ...fields }, { title: 'New rate' })
export type NewRate = Static<typeof NewRate>

export const RateRecord = open({ id: must(anyText()), ...fields }, { title: 'Rate record' })

/** With `prefix` in the query, rows are whole rates. */
export const RateRow = open(
  {
    id: must(anyText()),
    name: anyText({ description: 'rate_name' }),
    prefix: must(integer()),
    carrier: anyText(),
    cost: number({ description: 'rate_cost' }),
    description: anyText(),
    surcharge: number({ description: 'rate_surcharge' }),
  },
  { title: 'Rate row' },
)

export const Ratedecks = open(
  { default_ratedeck: must(anyText()), ratedecks: must(list(anyText())) },
  { title: 'Ratedecks' },
)

export const NumberRate = open(
  {
    'Base-Cost': must(number({ description: 'Dollars that a call needs to begin' })),
    'E164-Number': must(anyText()),
    Prefix: must(anyText()),
    Rate: must(anyText({ description: 'Units per minute; 10,000 units are a dollar' })),
    'Rate-Description': anyText(),
    'Rate-ID': must(anyText()),
    'Rate-Increment': must(anyText({ description: 'Seconds' })),
    'Rate-Minimum': must(anyText({ description: 'Seconds' })),
    'Rate-Name': anyText(),
    'Ratedeck-ID': must(anyText()),
    Surcharge: must(anyText({ description: 'Units' })),
  },
  { title: 'Rate of a number' },
)
export type NumberRate = Static<typeof NumberRate>

/** The columns of an export. */
export const rateColumns: readonly string[] = Object.keys(fields).sort()
