import { enableWebhooks, listWebhooks, type WebhookRow } from '@crosspoint/client'
import { Badge, Button } from '@mantine/core'
import { Webhook } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../../frame/place.tsx'
import { useChange } from '../../../lib/answers.ts'
import { api } from '../../../lib/api.ts'
import { tellDone } from '../../../lib/toasts.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { ButtonToScreen, ToScreen } from '../../../parts/link.tsx'
import { type Column, RowList } from '../../../parts/row-list.tsx'
import { Screen } from '../../../parts/screen.tsx'

const useColumns = (): readonly Column<WebhookRow>[] => {
  const { t } = useTranslation()
  const to = useTo()
  return [
    {
      id: 'name',
      title: t('events.hook.name'),
      show: ({ id, name }) => (
        <ToScreen to={to(`events/webhooks/${id}`)}>
          <bdi>{name}</bdi>
        </ToScreen>
      ),
    },
    { id: 'hook', title: t('events.hook.told'), isExtra: true, show: ({ hook }) => hook },
    { id: 'uri', title: t('events.hook.whom'), isExtra: true, show: ({ uri }) => uri },
    {
      id: 'state',
      title: t('events.hook.state'),
      show: ({ enabled, disable_reason }) =>
        enabled ? (
          <Badge color="green">{t('events.hook.enabled')}</Badge>
        ) : (
          <Badge color="red" title={disable_reason}>
            {t('events.hook.disabled')}
          </Badge>
        ),
    },
  ]
}

/** The webhooks of the account. */
export const WebhookList = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const path = { account_id: accountId }
  const columns = useColumns()
  const enabling = useChange({
    touches: ['webhook'],
    run: () => enableWebhooks({ ...api, path, body: { data: { 're-enable': true } } }),
    done: () => tellDone(t('events.hook.reEnabled')),
  })
  return (
    <Screen
      title={t('events.webhooks')}
      actions={
        <>
          <Button variant="default" loading={enabling.isPending} onClick={() => enabling.mutate(undefined)}>
            {t('events.hook.reEnable')}
          </Button>
          <ButtonToScreen to={to('events/webhooks/new')}>{t('events.hook.new')}</ButtonToScreen>
        </>
      }
    >
      <RowList
        label={t('events.webhooks')}
        queryKey={['webhook', accountId]}
        read={(start_key, signal) => listWebhooks({ ...api, path, query: { start_key }, signal })}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          <Empty
            Icon={Webhook}
            text={t('events.hook.empty')}
            next={{ to: to('events/webhooks/new'), label: t('events.hook.new') }}
          />
        }
      />
    </Screen>
  )
}
