import { Type } from 'typebox'
import { choice } from '../../../lib/schema.ts'
import { flag, section, settingsDocument } from '../../../settings/keys.ts'

const rates = section('Prices of calls: which rate of a number counts', {
  default_ratedeck: Type.String({
    default: 'ratedeck',
    minLength: 1,
    maxLength: 64,
    description:
      'The ratedeck of accounts to whom neither services, plans nor their reseller give one, and of rates that name none',
  }),
  sort_by_weight: flag(true, 'Of rates of one prefix take the lowest weight; else the highest cost'),
  filter_list: Type.Array(
    choice(['direction', 'route_options', 'routes', 'caller_id_numbers', 'reseller', 'version']),
    {
      default: ['direction', 'route_options', 'routes', 'caller_id_numbers', 'reseller'],
      description: 'What of a rate has to fit a call, beside its prefix',
    },
  ),
  rate_version: Type.Optional(Type.String({ description: 'The rate_version that filter version asks for' })),
})

export const rateSettings = settingsDocument('rates', rates)
