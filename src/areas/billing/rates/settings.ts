import { Type } from 'typebox'
import { choice } from '../../../lib/schema.ts'
import { flag, section, settingsDocument } from '../../../settings/keys.ts'

const rates = section('Prices of calls: which rate of a number counts', {
  default_ratedeck: Type.String({
    default: 'ratedeck',
    minLength: 1,
    maxLength: 64,
    description:
      'The ratedeck of accounts without one from services, plans or reseller, and of rates that name none',
  }),
  sort_by_weight: flag(true, 'If rates have one prefix, use the lowest weight; else the highest cost'),
  filter_list: Type.Array(
    choice(['direction', 'route_options', 'routes', 'caller_id_numbers', 'reseller', 'version']),
    {
      default: ['direction', 'route_options', 'routes', 'caller_id_numbers', 'reseller'],
      description: 'Further conditions of a rate for a call, in addition to its prefix',
    },
  ),
  rate_version: Type.Optional(Type.String({ description: 'The rate_version that filter version asks for' })),
})

export const rateSettings = settingsDocument('rates', rates)
