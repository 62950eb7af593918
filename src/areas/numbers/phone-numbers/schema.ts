import { type Static, Type } from 'typebox'
import { countries } from '../../../lib/countries.ts'
import { normalizeNumber } from '../../../lib/e164.ts'
import type { Problem, Problems } from '../../../lib/failure.ts'
import {
  anyCase,
  anyObject,
  anyText,
  choice,
  closed,
  flag,
  integer,
  keyed,
  list,
  multiline,
  must,
  open,
  ownFields,
  text,
  typed,
} from '../../../lib/schema.ts'

// Limit for one request; tasks take any number of rows.
const maxNumbers = 10_000

/** Validated by `numberListProblems`, which has its own messages. */
export const AskedNumbers = Type.Unsafe<readonly string[]>({
  description: `Array of numbers, no two of them the same, at most ${maxNumbers}`,
})

const problem = (rule: string, message: string, more: Partial<Problem> = {}): Problems => ({
  numbers: { [rule]: { message, ...more } },
})

/** Invalid numbers fail separately. */
export const numberListProblems = (numbers: unknown): Problems => {
  if (numbers === undefined || numbers === null) return problem('required', 'list of numbers missing')
  if (!Array.isArray(numbers)) return problem('type', 'numbers must be a list', { target: 'array' })
  if (numbers.length === 0) return problem('minimum', 'minimum 1 number required', { target: 1 })
  if (numbers.length > maxNumbers) {
    const message = `maximum ${maxNumbers} numbers allowed; use a task for more`
    return problem('maxItems', message, { target: maxNumbers })
  }
  const texts = numbers.filter((number) => typeof number === 'string')
  if (texts.length < numbers.length) return problem('type', 'numbers must be texts', { target: 'string' })
  const different = new Set(texts.map(normalizeNumber))
  return different.size < texts.length ? problem('uniqueItems', 'some numbers appear twice') : {}
}

export const numberStates = [
  'aging',
  'available',
  'deleted',
  'discovery',
  'in_service',
  'port_in',
  'port_out',
  'released',
  'reserved',
] as const

const Cnam = open({
  display_name: text(1, 15, { description: 'Name shown to called parties' }),
  inbound_lookup: flag({ description: 'Look up the names of callers' }),
})

const LegacyAddress = open({
  house_number: anyText(),
  predirectional: anyText(),
  streetname: anyText(),
  suite: anyText(),
})

export const E911 = open(
  {
    activated_time: anyText({ description: 'Activation time of the provider; set by the server' }),
    callback_cid_number: text(10, 10, { description: 'Number that emergency services call back' }),
    caller_name: text(3, Number.MAX_SAFE_INTEGER, { description: 'Name shown to emergency services' }),
    country: choice(countries, { ...anyCase, description: 'ISO 3166-1 alpha-2; stored in capitals' }),
    delivery_method: choice(['direct', 'three_way', 'security_desk']),
    extended_address: anyText({ description: 'Suite, floor and the like' }),
    latitude: text(0, 11, { description: 'WGS84' }),
    longitude: text(0, 11, { description: 'WGS84' }),
    legacy_data: LegacyAddress,
    locality: must(anyText({ description: 'City' })),
    location_id: anyText(),
    location_identifier: integer({
      minimum: 1_000_000_000,
      maximum: 9_999_999_999,
      description: 'ELIN of ten digits',
    }),
    notification_contact_emails: list(anyText({ format: 'email' }), { default: [] }),
    plus_four: anyText({ description: 'Extended ZIP code' }),
    postal_code: must(anyText()),
    region: must(text(2, 2, { description: 'Two-letter abbreviation' })),
    status: choice(['INVALID', 'GEOCODED', 'PROVISIONED', 'REMOVED', 'ERROR'], {
      description: 'Set by the server after a response of a provider; absent: not registered',
    }),
    street_address: must(anyText({ description: 'House number and street' })),
  },
  { description: 'Address of the caller, for emergency services' },
)
export type E911 = Static<typeof E911>

const Porting = open(
  {
    billing_account_id: anyText(),
    billing_extended_address: anyText(),
    billing_locality: anyText(),
    billing_name: anyText(),
    billing_postal_code: anyText(),
    billing_region: anyText(),
    billing_street_address: anyText(),
    billing_telephone_number: anyText(),
    comments: list(anyText(multiline)),
    customer_contact: anyText(),
    port_id: anyText(),
    requested_port_date: anyText(),
    service_provider: anyText(),
  },
  { description: 'Data of the losing carrier' },
)

const NumberFailover = open(
  { e164: anyText({ description: 'A number' }), sip: anyText({ description: 'A SIP address' }) },
  { description: 'Destination of calls that the trunk does not accept; for numbers of trunks' },
)

const Prepend = open(
  {
    enabled: flag({ description: 'Whether it is done' }),
    name: anyText({ description: 'Put before the name of a caller' }),
    number: anyText({ description: 'Put before the number of a caller' }),
  },
  { description: 'Prefix of the caller ID for called parties' },
)

const Ringback = open(
  {
    early: anyText({ description: 'Medium that callers hear while it rings' }),
    transfer: anyText({ description: 'Medium that callers hear while they are transferred' }),
  },
  { description: 'Media for callers' },
)

// Old clients send a text; one that is neither true nor false means not set.
const ForceOutbound = typed(['boolean', 'string'], {
  description: 'Whether internal calls to this number use a carrier; true or false',
})

const Messages = open({ enabled: flag({ description: 'Whether the number can send and receive messages' }) })

const callFields = {
  failover: NumberFailover,
  force_outbound: ForceOutbound,
  prepend: Prepend,
  ringback: Ringback,
}

const numberFields = {
  ...callFields,
  mms: Messages,
  sms: Messages,
  carrier_name: text(1, 30, { description: 'Sets the carrier; operators only' }),
  cnam: Cnam,
  create_with_state: choice(numberStates, { description: 'State of a new number; default in_service' }),
  e911: E911,
  porting: Porting,
}

const lists = {
  features_allowed: list(anyText(), { description: 'For this number only; operators only' }),
  features_denied: list(anyText(), { description: 'For this number only; operators only' }),
}

export const PhoneNumber = open(
  { ...numberFields, ...lists },
  {
    ...ownFields,
    title: 'Phone number',
    description: 'Public fields of a phone number. Other fields are kept as they are given',
  },
)

const served = { readOnly: true }

export const PhoneNumberRecord = open(
  {
    id: must(anyText({ ...served, description: 'The number in E.164' })),
    state: must(choice(numberStates, served)),
    used_by: anyText({
      ...served,
      description: 'mobile: it belongs to a mobile device; nothing else sets it here',
    }),
    features: list(anyText(), { ...served, description: 'Enabled features' }),
    ...numberFields,
  },
  { title: 'Phone number record' },
)

const NumberEntry = open(
  {
    state: must(choice(numberStates)),
    features: list(anyText()),
    features_allowed: list(anyText()),
    features_denied: list(anyText()),
    features_available: list(anyText()),
    assigned_to: anyText(),
    used_by: anyText(),
    created: integer({ description: 'Gregorian seconds' }),
    updated: integer({ description: 'Gregorian seconds' }),
    locality: anyObject(),
  },
  { title: 'Phone number list entry' },
)

export const NumberList = open(
  {
    cascade_quantity: must(integer({ description: 'Billable numbers of the account and its sub-accounts' })),
    numbers: must(keyed(NumberEntry)),
  },
  { title: 'Phone numbers of an account' },
)

export const NumberOwner = closed(
  { account_id: must(anyText()), number: must(anyText()), ...callFields },
  {
    title: 'Owner of a phone number',
    description: 'Account that gets the calls to the number, and the features of these calls',
  },
)

const NumberMetadata = open({
  id: must(anyText()),
  created: must(integer()),
  modified: must(integer()),
  carrier_module: must(anyText()),
  deleted: flag(),
  features: must(open({ available: must(list(anyText())), settings: must(anyObject()) })),
})

const CollectionItem = open({
  id: must(anyText()),
  state: must(choice(numberStates)),
  features: list(anyText()),
  _read_only: must(NumberMetadata),
})

/** `error` is an empty list if nothing failed. */
export const CollectionOutcome = closed(
  { success: must(keyed(CollectionItem)), error: must(typed(['object', 'array'])) },
  { title: 'Outcome of a collection of phone numbers' },
)

export const NumberCollection = open(
  {
    numbers: AskedNumbers,
    ...numberFields,
    ...lists,
  },
  { ...ownFields, title: 'Collection of phone numbers' },
)

const classifierFields = {
  regex: anyText(),
  friendly_name: anyText(),
  pretty_print: anyText({ description: '# takes a character, S skips one, * takes the rest' }),
  emergency: flag(),
  name: anyText(),
}

export const Classifiers = keyed(open(classifierFields), { title: 'Number classifiers' })

export const Classification = open(
  { ...classifierFields, number: must(anyText()), e164: must(anyText()) },
  { title: 'Classification of a number' },
)
