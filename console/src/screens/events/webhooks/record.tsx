import { deleteWebhook, getWebhook, testWebhook, updateWebhook } from '@crosspoint/client'
import { Alert, Button } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { usePlace, useTo } from '../../../frame/place.tsx'
import { useAnswer, useChange } from '../../../lib/answers.ts'
import { api } from '../../../lib/api.ts'
import { FailureNote } from '../../../lib/failures.tsx'
import { tellDone } from '../../../lib/toasts.tsx'
import { DeleteButton } from '../../../parts/delete-button.tsx'
import { RecordFormTabs } from '../../../parts/record-form.tsx'
import { Loading, Screen } from '../../../parts/screen.tsx'
import { Attempts } from './attempts.tsx'
import { groups, own } from './fields.tsx'

const useWebhookPath = () => {
  const { accountId } = usePlace()
  const { webhookId = '' } = useParams()
  return { account_id: accountId, webhook_id: webhookId }
}

const TestWebhook = () => {
  const { t } = useTranslation()
  const path = useWebhookPath()
  const testing = useChange({
    touches: ['webhook_attempt'],
    run: () => testWebhook({ ...api, path }),
    done: ({ data }) => {
      const { result, resp_status_code, reason = '', duration_ms } = data
      const status = resp_status_code ?? reason
      tellDone(t(`events.hook.tested.${result}`, { status, ms: duration_ms }))
    },
  })
  return (
    <Button variant="default" loading={testing.isPending} onClick={() => testing.mutate(undefined)}>
      {t('events.hook.test')}
    </Button>
  )
}

const DeleteWebhook = ({ name }: { name: string }) => {
  const { t } = useTranslation()
  const path = useWebhookPath()
  const to = useTo()
  return (
    <DeleteButton
      title={t('events.hook.deleteTitle')}
      text={t('events.hook.deleteText', { name })}
      touches={['webhook']}
      run={() => deleteWebhook({ ...api, path })}
      to={to('events/webhooks')}
    />
  )
}

/** One webhook: its settings, and what was sent to it. */
export const WebhookRecord = () => {
  const { t } = useTranslation()
  const path = useWebhookPath()
  const { account_id, webhook_id } = path
  const found = useAnswer(['webhook', account_id, webhook_id], (signal) =>
    getWebhook({ ...api, path, signal }),
  )
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { data, revision = '', metadata } = found.data
  const reason = metadata?.disable_reason
  return (
    <Screen
      title={data.name}
      actions={
        <>
          <TestWebhook />
          <DeleteWebhook name={data.name} />
        </>
      }
    >
      {typeof reason === 'string' && (
        <Alert color="red" title={t('events.hook.disabledTitle')}>
          {reason}
        </Alert>
      )}
      <RecordFormTabs
        key={webhook_id}
        kind="webhook"
        apiPath={`/v2/accounts/${account_id}/webhooks/${webhook_id}`}
        schemaName="webhooks"
        groups={groups}
        own={own}
        record={data}
        revision={revision}
        save={(changes, more) => updateWebhook({ ...api, ...more, path, body: { data: changes } })}
        tabs={[{ id: 'attempts', title: t('events.hook.attempts'), show: () => <Attempts /> }]}
      />
    </Screen>
  )
}
