import { createApiKey } from '@crosspoint/client'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useLocation } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { api } from '../../lib/api.ts'
import { NewRecord } from '../../parts/new-record.tsx'
import { Screen } from '../../parts/screen.tsx'
import { groups, own } from './fields.tsx'
import { ShownKey } from './shown-key.tsx'

export const NewApiKey = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const [, go] = useLocation()
  const [apiKey, setApiKey] = useState<string>()
  return (
    <Screen title={t('apiKeys.new')}>
      <NewRecord
        kind="api_key"
        schemaName="api_keys"
        groups={groups}
        own={own}
        create={async (record) => {
          const body = { data: { name: '', scopes: [], ...record } }
          const made = await createApiKey({ ...api, path: { account_id: accountId }, body })
          setApiKey(made.data.key)
          return made
        }}
      />
      {apiKey !== undefined && (
        <ShownKey
          title={t('apiKeys.created')}
          text={t('apiKeys.createdText')}
          apiKey={apiKey}
          onClose={() => go(to('api-keys'))}
        />
      )}
    </Screen>
  )
}
