import { Select } from '@mantine/core'
import { schemaAt } from '../lib/schemas.ts'
import { labelOf, type OwnField } from './fields.tsx'

const zones = Intl.supportedValuesOf('timeZone')

// Enough rows to read: the user types a part of the name to find others.
const shown = 50

/** A zone of the time zone database. */
export const TimezoneSelect: OwnField = ({ form, path, schema }) => {
  const input = form.getInputProps(path)
  const value = typeof input.value === 'string' ? input.value : null
  return (
    <Select
      {...input}
      value={value}
      label={labelOf(path, schemaAt(schema, path))}
      data={value === null || zones.includes(value) ? zones : [value, ...zones]}
      limit={shown}
      searchable
      clearable
    />
  )
}
