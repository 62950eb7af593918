import type { Static } from 'typebox'
import { anyText, choice, integer, keyed, list, must, open, text } from '../../../../lib/schema.ts'
import { AskedNumbers } from '../schema.ts'

export const usualCountry = 'US'

export const FindNumbers = open(
  {
    prefix: must(
      text(3, 14, {
        description: 'At most ten national digits, or the beginning of an E.164 number with them',
      }),
    ),
    quantity: integer({ minimum: 1, default: 1, description: 'How many numbers at most' }),
    offset: integer({
      minimum: 0,
      default: 0,
      description: 'The page, each of `quantity` numbers: the first is 0, later ones are of the same result',
    }),
    country: text(2, 2, { default: usualCountry, description: 'ISO 3166-1' }),
  },
  { title: 'Number search' },
)
export type FindNumbers = Required<Static<typeof FindNumbers>>

export const FoundNumber = open(
  { number: must(anyText()), state: must(choice(['available', 'reserved', 'discovery'])) },
  { title: 'Found number' },
)
export type FoundNumber = Static<typeof FoundNumber>

const RateCenter = open({ lata: anyText(), name: anyText(), state: anyText() })

export const FoundNumberDetails = open(
  {
    e164: must(anyText()),
    formatted_number: must(anyText()),
    npa_nxx: anyText({ description: 'Area code and exchange, in North America' }),
    number: must(anyText()),
    number_id: must(anyText()),
    rate_center: RateCenter,
    status: must(anyText()),
    ten_digit: anyText({ description: 'In North America' }),
  },
  { title: 'Found number with details' },
)
export type FoundNumberDetails = Static<typeof FoundNumberDetails>

export const CarriersInfo = open(
  {
    maximal_prefix_length: must(integer({ description: 'Digits by which all searched carriers can search' })),
    usable_carriers: must(list(anyText())),
    usable_creation_states: must(list(anyText(), { description: 'States the caller may create numbers in' })),
  },
  { title: 'Carriers' },
)
export type CarriersInfo = Static<typeof CarriersInfo>

export const NumberQuery = open({ numbers: AskedNumbers }, { title: 'Numbers in question' })

export const NumberChecks = keyed(anyText(), {
  title: 'Number checks',
  description: '`success`, `error` or another status of the carrier, by number',
})

const lookupStatus = must(anyText({ description: '`success`, or another status of the service' }))

export const NumberLocality = open(
  {
    carrier: open({ company: anyText(), dba: anyText(), id: anyText(), type: anyText() }),
    country: anyText(),
    e164_number: anyText(),
    geocode: open({ locality: anyText() }),
    locality: open({}),
    number: anyText(),
    status: lookupStatus,
  },
  { title: 'Locality of a number' },
)
export type NumberLocality = Static<typeof NumberLocality>

export const Cities = open({}, { title: 'Cities with their prefixes', description: 'By name' })
