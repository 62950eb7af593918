import { Autocomplete } from '@mantine/core'
import { type FieldGroup, labelOf, type OwnField } from '../../parts/fields.tsx'
import { useDecks } from './decks.ts'

/** A ratedeck that exists, or the name of a new one. */
const DeckField: OwnField = ({ form, path }) => {
  const { ratedecks, default_ratedeck } = useDecks()
  const input = form.getInputProps(path)
  return (
    <Autocomplete
      {...input}
      value={typeof input.value === 'string' ? input.value : ''}
      label={labelOf(path)}
      placeholder={default_ratedeck}
      data={ratedecks}
    />
  )
}

export const groups: readonly FieldGroup[] = [
  {
    title: 'rates.destination',
    fields: ['prefix', 'rate_name', 'iso_country_code', 'ratedeck_id', 'description'],
  },
  {
    title: 'rates.price',
    fields: [
      'rate_cost',
      'rate_surcharge',
      'rate_minimum',
      'rate_increment',
      'rate_nocharge_time',
      'internal_rate_cost',
    ],
  },
  {
    title: 'rates.conditions',
    fields: [
      'direction',
      'weight',
      'caller_id_numbers',
      'account_id',
      'routes',
      'options',
      'carrier',
      'rate_version',
    ],
  },
]

export const own: Readonly<Record<string, OwnField>> = { ratedeck_id: DeckField }
