import { getLimits, getOperatorLimits, replaceLimits, updateOperatorLimits } from '@crosspoint/client'
import { Stack, Table, Text, Title } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { showNumber } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { isObject, type Json, withChanges } from '../../lib/json.ts'
import { type FieldGroup, labelOf } from '../../parts/fields.tsx'
import { RecordFormTabs } from '../../parts/record-form.tsx'
import { Loading } from '../../parts/screen.tsx'

const ownGroups: readonly FieldGroup[] = [
  {
    title: 'alerts.trunks',
    fields: ['twoway_trunks', 'inbound_trunks', 'outbound_trunks', 'burst_trunks'],
  },
  {
    title: 'alerts.callsAtOnce',
    fields: ['calls', 'resource_consuming_calls', 'allow_prepay', 'authz_resource_types'],
  },
]

const operatorGroups: readonly FieldGroup[] = [
  {
    title: 'alerts.allowed',
    fields: [
      'enabled',
      'twoway_trunks',
      'inbound_trunks',
      'outbound_trunks',
      'burst_trunks',
      'calls',
      'resource_consuming_calls',
    ],
  },
  {
    title: 'alerts.debt',
    fields: ['prepaid', 'allow_prepay', 'allow_postpay', 'max_postpay_amount', 'reserve_amount'],
  },
  { title: 'alerts.soft', fields: ['soft_limit_inbound', 'soft_limit_outbound'] },
]

const unlimited = -1

const useShow = () => {
  const { t } = useTranslation()
  return (value: Json | undefined) => {
    if (value === unlimited) return t('alerts.unlimited')
    if (typeof value === 'number') return showNumber(value)
    if (typeof value === 'boolean') return t(value ? 'yes' : 'no')
    return Array.isArray(value) ? value.join(', ') : ''
  }
}

/** The effective limits of account, plans and operator. */
const Effective = ({ effective }: { effective: unknown }) => {
  const { t } = useTranslation()
  const show = useShow()
  if (!isObject(effective)) return null
  return (
    <Stack component="section" gap="xs" mb="lg">
      <Title order={2} size="h4">
        {t('alerts.effective')}
      </Title>
      <Text size="sm" c="dimmed">
        {t('alerts.effectiveText')}
      </Text>
      <Table maw="30rem" aria-label={t('alerts.effective')}>
        <Table.Tbody>
          {Object.entries(effective).map(([key, value]) => (
            <Table.Tr key={key}>
              <Table.Th scope="row" fw={400}>
                {labelOf(key)}
              </Table.Th>
              <Table.Td ta="end">{show(value)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Stack>
  )
}

/** What an account wants to have. */
export const OwnLimits = () => {
  const { accountId } = usePlace()
  const path = { account_id: accountId }
  const found = useAnswer(['limits', accountId], (signal) => getLimits({ ...api, path, signal }))
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { data, revision = '', metadata } = found.data
  return (
    <>
      <Effective effective={metadata?.effective} />
      <RecordFormTabs
        kind="limits"
        apiPath={`/v2/accounts/${accountId}/limits`}
        schemaName="limits"
        groups={ownGroups}
        record={data}
        revision={revision}
        hasHistory={false}
        save={(changes, more, record) =>
          replaceLimits({
            ...api,
            ...more,
            path,
            body: { data: { ...withChanges(record, changes) } },
          })
        }
      />
    </>
  )
}

/** The limits set by the reseller or operator. */
export const OperatorLimits = () => {
  const { accountId } = usePlace()
  const path = { account_id: accountId }
  const found = useAnswer(['limits', accountId, 'operator'], (signal) =>
    getOperatorLimits({ ...api, path, signal }),
  )
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { data, revision = '' } = found.data
  return (
    <RecordFormTabs
      kind="limits"
      apiPath={`/v2/accounts/${accountId}/limits/operator`}
      schemaName="operator_limits"
      groups={operatorGroups}
      record={data}
      revision={revision}
      hasHistory={false}
      save={(changes, more) => updateOperatorLimits({ ...api, ...more, path, body: { data: changes } })}
    />
  )
}
