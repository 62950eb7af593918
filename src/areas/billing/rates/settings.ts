import { Type } from 'typebox'
import { choice } from '../../../lib/schema.ts'
import { flag, section, settingsDocument } from '../../../settings/keys.ts'

const rates = section('Prices of calls: choice of the rate for a number', {
  default_ratedeck: Type.String({
    default: 'ratedeck',
    minLength: 1,
    maxLength: 64,
    description:
      'Ratedeck of accounts that have none by their services, plans or reseller, and of rates without one',
  }),
  sort_by_weight: flag(true, 'If rates have one prefix, use the lowest weight; else the highest cost'),
  filter_list: Type.Array(
    choice(['direction', 'route_options', 'routes', 'caller_id_numbers', 'reseller', 'version']),
    {
      default: ['direction', 'route_options', 'routes', 'caller_id_numbers', 'reseller'],
      description: 'Conditions of a rate, in addition to its prefix',
    },
  ),
  rate_version: Type.Optional(Type.String({ description: 'Required rate_version of the filter `version`' })),
})

export const rateSettings = settingsDocument('rates', rates)
