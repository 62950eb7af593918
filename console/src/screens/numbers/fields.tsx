import { Select } from '@mantine/core'
import { schemaAt } from '../../lib/schemas.ts'
import { type FieldGroup, labelOf, type OwnField } from '../../parts/fields.tsx'
import { countriesIn } from './countries.ts'

const CountrySelect: OwnField = ({ form, path, schema }) => {
  const part = schemaAt(schema, path)
  const input = form.getInputProps(path)
  return (
    <Select
      {...input}
      value={typeof input.value === 'string' ? input.value : null}
      label={labelOf(path, part)}
      data={countriesIn(part?.enum ?? [])}
      searchable
      clearable
    />
  )
}

export const own: Readonly<Record<string, OwnField>> = { 'e911.country': CountrySelect }

/** Groups of fields by the feature of a number that they need. */
const byFeature: readonly (FieldGroup & { needs: readonly string[] })[] = [
  {
    title: 'numbers.callerName',
    needs: ['cnam', 'outbound_cnam', 'inbound_cnam'],
    fields: ['cnam.display_name', 'cnam.inbound_lookup'],
  },
  {
    title: 'numbers.emergency',
    needs: ['e911'],
    fields: [
      'e911.caller_name',
      'e911.street_address',
      'e911.extended_address',
      'e911.locality',
      'e911.region',
      'e911.postal_code',
      'e911.country',
      'e911.notification_contact_emails',
    ],
  },
  {
    title: 'numbers.porting',
    needs: ['port'],
    fields: [
      'porting.service_provider',
      'porting.billing_name',
      'porting.billing_account_id',
      'porting.billing_telephone_number',
      'porting.requested_port_date',
      'porting.port_id',
      'porting.customer_contact',
      'porting.comments',
    ],
  },
  {
    title: 'numbers.callers',
    needs: ['prepend'],
    fields: ['prepend.enabled', 'prepend.name', 'prepend.number'],
  },
  { title: 'numbers.ringback', needs: ['ringback'], fields: ['ringback.early', 'ringback.transfer'] },
  { title: 'numbers.failover', needs: ['failover'], fields: ['failover.e164', 'failover.sip'] },
  { title: 'numbers.messages', needs: ['sms', 'mms'], fields: ['sms.enabled', 'mms.enabled'] },
]

/** The fields of a number with these features. */
export const groupsFor = (available: readonly string[]): readonly FieldGroup[] =>
  byFeature
    .filter(({ needs }) => needs.some((feature) => available.includes(feature)))
    .map(({ title, fields }) => ({ title, fields }))

/** What can be written of several numbers at once: each takes what it may have, and refuses else. */
export const groupsForSeveral: readonly FieldGroup[] = byFeature
  .filter(({ needs }) => needs.includes('cnam') || needs.includes('prepend') || needs.includes('e911'))
  .map(({ title, fields }) => ({ title, fields }))
