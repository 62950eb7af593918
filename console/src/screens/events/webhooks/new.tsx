import { createWebhook } from '@crosspoint/client'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../../frame/place.tsx'
import { api } from '../../../lib/api.ts'
import { NewRecord } from '../../../parts/new-record.tsx'
import { Screen } from '../../../parts/screen.tsx'
import { groups, own } from './fields.tsx'

export const NewWebhook = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  return (
    <Screen title={t('events.hook.new')}>
      <NewRecord
        kind="webhook"
        schemaName="webhooks"
        groups={groups}
        own={own}
        initial={{ version: 'v2', format: 'json', hook: 'all' }}
        create={(record) =>
          createWebhook({
            ...api,
            path: { account_id: accountId },
            body: { data: { name: '', uri: '', hook: '', ...record } },
          })
        }
        to={(id) => to(`events/webhooks/${id}`)}
      />
    </Screen>
  )
}
