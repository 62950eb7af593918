import { deleteApiKey, getApiKey, updateApiKey } from '@crosspoint/client'
import { Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { showTime } from '../../lib/times.ts'
import { DeleteButton } from '../../parts/delete-button.tsx'
import { RecordFormTabs } from '../../parts/record-form.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { groups, own } from './fields.tsx'

/** One key: what it may be used for, from where and until when. */
export const ApiKeyRecord = () => {
  const { t } = useTranslation()
  const { accountId, timezone } = usePlace()
  const { keyId = '' } = useParams()
  const to = useTo()
  const path = { account_id: accountId, api_key_id: keyId }
  const found = useAnswer(['api_key', accountId, keyId], (signal) => getApiKey({ ...api, path, signal }))
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { data, revision = '' } = found.data
  const { name, last_used } = data
  return (
    <Screen
      title={name}
      actions={
        <DeleteButton
          title={t('apiKeys.deleteTitle')}
          text={t('apiKeys.deleteText', { name })}
          touches={['api_key']}
          run={() => deleteApiKey({ ...api, path })}
          to={to('api-keys')}
        />
      }
    >
      <Text size="sm" c="dimmed">
        {last_used === undefined
          ? t('apiKeys.notUsed')
          : t('apiKeys.usedAt', { time: showTime(last_used, timezone) })}
      </Text>
      <RecordFormTabs
        key={keyId}
        kind="api_key"
        apiPath={`/v2/accounts/${accountId}/api_keys/${keyId}`}
        schemaName="api_keys"
        groups={groups}
        own={own}
        record={data}
        revision={revision}
        save={(changes, more) => updateApiKey({ ...api, ...more, path, body: { data: changes } })}
      />
    </Screen>
  )
}
