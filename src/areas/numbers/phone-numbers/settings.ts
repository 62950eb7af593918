import { Type } from 'typebox'
import { choice } from '../../../lib/schema.ts'
import { address, country, flag, section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'
import { carrierModules, numberModules } from './carriers/carrier.ts'

/** Resellers can set them for their sub-accounts, too. */
const numberSearchKeys = {
  carrier_modules: Type.Array(choice(carrierModules), {
    default: ['knm_local'],
    description: 'Carriers that are searched in addition to the stock',
  }),
  unauthorized_numbers_lookup: flag(false, 'Allow number searches without a token'),
}

const featureNames = (description: string) =>
  Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64, description }))

/** Read for the account that owns a number. */
const numberFeatureKeys = {
  features: Type.Object(
    {
      allow: featureNames('Features that numbers may have; absent: all'),
      deny: featureNames('Features that numbers may not have; absent: external features of local numbers'),
    },
    { default: {}, additionalProperties: true, description: 'Features of numbers' },
  ),
}

const pattern = (description: string) => Type.String({ minLength: 1, maxLength: 256, description })

const numberingKeys = {
  reconcile_regex: Type.Optional(pattern('Pattern of a number after normalisation (RE2)')),
  e164_converters: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Object({
        prefix: Type.Optional(Type.String({ maxLength: 16, description: 'Text before the number' })),
        suffix: Type.Optional(Type.String({ maxLength: 16, description: 'Text after the number' })),
      }),
      {
        description:
          'Texts around the last group of a pattern (RE2), by pattern in order; they replace the built-in ones',
      },
    ),
  ),
  classifiers: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Object(
        {
          regex: pattern('Pattern of numbers of this class (RE2); its last group is printed'),
          friendly_name: Type.Optional(Type.String({ maxLength: 128, description: 'Name in clients' })),
          pretty_print: Type.Optional(
            Type.String({
              maxLength: 64,
              description: 'Format of the number: # is one character, S skips one, * is the rest',
            }),
          ),
          emergency: Type.Optional(
            Type.Boolean({ description: 'Emergency number; part of the classification' }),
          ),
        },
        { additionalProperties: true },
      ),
      { description: 'Classes of numbers, in order; they replace the built-in ones' },
    ),
  ),
}

const expiryDays = (fallback: number, description: string) =>
  wholeNumber({ minimum: 0, maximum: 36_500, default: fallback }, description)

const carrier = (description: string) => choice(numberModules, { default: 'knm_local', description })

const carriers = (description: string) => Type.Array(choice(numberModules), { default: [], description })

const numberLifeKeys = {
  available_module_name: carrier('Carrier of new numbers without a carrier'),
  port_in_module_name: carrier('Carrier of new numbers that are ported in'),
  import_defaults_to_carrier: carrier('Carrier of numbers that a task imports, unless the operator sets one'),
  released_state: choice(['available', 'released'], {
    default: 'available',
    description: 'State of a released number',
  }),
  should_age: flag(false, 'Released numbers wait before they are available'),
  should_permanently_delete: flag(false, 'Released numbers are deleted'),
  aging_expiry_d: expiryDays(90, 'Days that a released number waits'),
  discovery_expiry_d: expiryDays(1, 'Retention of a discovered number'),
  local_feature_override: flag(false, 'Local numbers may have external features: cnam, e911, port, sms, mms'),
  sms_carriers: carriers('Carriers whose numbers may have the feature sms'),
  mms_carriers: carriers('Carriers whose numbers may have the feature mms'),
}

const numberManager = section('Phone numbers: format, carriers, states', {
  ...numberSearchKeys,
  ...numberFeatureKeys,
  ...numberingKeys,
  ...numberLifeKeys,
  maximum_search_quantity: wholeNumber(
    { minimum: 1, maximum: 500, default: 500, unit: 'numbers' },
    'Maximum results of a number search',
  ),
  number_search_timeout_ms: wholeNumber(
    { minimum: 1, maximum: 60_000, default: 5000 },
    'Timeout of carriers',
  ),
})

const numberInventory = section('The inventory service of the carrier `other`', {
  phonebook_url: address('The inventory service of the carrier `other`'),
  default_country: country('Country of the numbers (ISO 3166-1)'),
  endpoints: Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String())], {
      description: 'Hosts that receive the calls of ordered numbers',
    }),
  ),
})

const numberLocality = section('Localities of numbers', {
  url: address('Service for localities; absent: the address of the inventory service'),
})

const phoneNumbers = section('Number prefixes of cities', {
  phonebook_url: address('Service for the prefixes of cities; absent: the imported localities'),
  default_country: country('Country of the cities (ISO 3166-1)'),
})

export const numberManagerSettings = settingsDocument('number_manager', numberManager)
export const numberInventorySettings = settingsDocument('number_manager.other', numberInventory)
export const numberLocalitySettings = settingsDocument('number_manager.locality', numberLocality)
export const phoneNumberSettings = settingsDocument('crossbar.phone_numbers', phoneNumbers)

/** Accounts can replace these values. */
export const numberAccountSettings = settingsDocument(
  'number_manager',
  section('Phone numbers', { ...numberSearchKeys, ...numberFeatureKeys }),
)
