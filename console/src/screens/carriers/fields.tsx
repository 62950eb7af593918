import { TagsInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { JsonObject } from '../../lib/json.ts'
import { schemaAt } from '../../lib/schemas.ts'
import { type FieldGroup, helpOf, labelOf, type OwnField } from '../../parts/fields.tsx'
import { ItemList } from '../../parts/item-list.tsx'
import { NumberClasses } from './classes.tsx'
import { CallerRules, NumberRules } from './rules.tsx'

export const groups: readonly FieldGroup[] = [
  { title: 'carriers.basics', fields: ['name', 'weight_cost', 'enabled', 'emergency'] },
  { title: 'carriers.gateways', fields: ['gateways'] },
  { title: 'carriers.numbers', fields: ['rules', 'cid_rules', 'classifiers'] },
  { title: 'carriers.options', fields: ['flags', 'failover_codes', 'require_flags', 'ignore_flags'] },
  { title: 'carriers.inbound', fields: ['inbound_ips', 'from_uri_realm'] },
]

export const newGateway: JsonObject = { enabled: true }

const gatewayFields = ['server', 'port', 'username', 'password', 'transport', 'enabled']
const moreGatewayFields = [
  'invite_format',
  'codecs',
  'prefix',
  'suffix',
  'realm',
  'proxy',
  'progress_timeout',
  'force_port',
  'custom_sip_headers',
]

const codecs = ['PCMU', 'PCMA', 'G722', 'G729', 'opus', 'H264', 'VP8']

const Codecs: OwnField = ({ form, path, schema }) => {
  const { value, ...input } = form.getInputProps(path)
  return (
    <TagsInput
      {...input}
      value={Array.isArray(value) ? value.map(String) : []}
      label={labelOf(path)}
      description={helpOf(path, schemaAt(schema, path))}
      data={codecs}
    />
  )
}

const Gateways: OwnField = (props) => {
  const { t } = useTranslation()
  return (
    <ItemList
      {...props}
      name={t('carriers.gateway')}
      about={({ server }) => (typeof server === 'string' ? server : undefined)}
      add={t('carriers.addGateway')}
      empty={t('carriers.noGateways')}
      initial={newGateway}
      fields={gatewayFields}
      more={moreGatewayFields}
      own={{ codecs: Codecs }}
      isOrdered
    />
  )
}

const FailoverCodes: OwnField = ({ form, path, schema }) => {
  const { value, error, onChange } = form.getInputProps(path)
  const isNumber = (text: string) => /^\d+$/.test(text)
  return (
    <TagsInput
      label={labelOf(path)}
      description={helpOf(path, schemaAt(schema, path))}
      value={Array.isArray(value) ? value.map(String) : []}
      onChange={(typed) => onChange(typed.map((text) => (isNumber(text) ? Number(text) : text)))}
      error={error}
    />
  )
}

export const own: Readonly<Record<string, OwnField>> = {
  gateways: Gateways,
  rules: NumberRules,
  cid_rules: CallerRules,
  classifiers: NumberClasses,
  failover_codes: FailoverCodes,
}
