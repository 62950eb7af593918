import {
  type AttemptToTellAWebhook,
  listAccountWebhookAttempts,
  listWebhookAttempts,
  listWebhooks,
  replayWebhook,
} from '@crosspoint/client'
import { Anchor, Badge, Button, Code, Modal, Stack, Switch, Text, Title } from '@mantine/core'
import { RotateCw, Webhook } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { usePlace, useTo } from '../../../frame/place.tsx'
import { useAnswer, useChange } from '../../../lib/answers.ts'
import { api } from '../../../lib/api.ts'
import { listOf } from '../../../lib/list-source.ts'
import { showTime } from '../../../lib/times.ts'
import { tellDone } from '../../../lib/toasts.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { ButtonToScreen, ToScreen } from '../../../parts/link.tsx'
import { RowAction } from '../../../parts/row-action.tsx'
import { type Column, RowList } from '../../../parts/row-list.tsx'
import { Screen } from '../../../parts/screen.tsx'

type Attempt = AttemptToTellAWebhook

const Part = ({ title, text }: { title: string; text: string }) => (
  <Stack gap={4}>
    <Title order={3} size="h6">
      {title}
    </Title>
    <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
      {text}
    </Code>
  </Stack>
)

/** Sends the event of an attempt again. */
const useReplay = (done?: () => void) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  return useChange({
    touches: ['webhook_attempt'],
    run: ({ id, hook_id }: Attempt) =>
      replayWebhook({
        ...api,
        path: { account_id: accountId, webhook_id: hook_id },
        body: { data: { attempt_id: id } },
      }),
    done: () => {
      tellDone(t('events.hook.replayed'))
      done?.()
    },
  })
}

const AttemptDetails = ({ attempt, onClose }: { attempt: Attempt; onClose: () => void }) => {
  const { t } = useTranslation()
  const { method, uri, req_headers, req_body, resp_status_code, resp_body, reason, client_error } = attempt
  const replaying = useReplay(onClose)
  const answer =
    resp_status_code === undefined
      ? (client_error ?? reason ?? '')
      : `${resp_status_code}\n${resp_body ?? ''}`
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={t('events.hook.attempt')}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <Stack>
        <Part
          title={t('events.hook.sent')}
          text={`${method.toUpperCase()} ${uri}\n${JSON.stringify(req_headers, undefined, 2)}\n\n${req_body}`}
        />
        <Part title={t('events.hook.answered')} text={answer} />
        <Button loading={replaying.isPending} onClick={() => replaying.mutate(attempt)}>
          {t('events.hook.replay')}
        </Button>
      </Stack>
    </Modal>
  )
}

const useColumns = (open: (attempt: Attempt) => void): readonly Column<Attempt>[] => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  return [
    {
      id: 'at',
      title: t('events.when'),
      show: (attempt) => (
        <>
          <Anchor component="button" type="button" inherit onClick={() => open(attempt)}>
            {showTime(attempt.timestamp, timezone)}
          </Anchor>
          <Text size="xs" c="dimmed" hiddenFrom="sm">
            {attempt.hook_event}
          </Text>
        </>
      ),
    },
    { id: 'event', title: t('events.type'), isExtra: true, show: ({ hook_event }) => hook_event },
    {
      id: 'result',
      title: t('events.hook.result'),
      show: ({ result, resp_status_code, reason }) => (
        <Badge color={result === 'success' ? 'green' : 'red'}>
          {resp_status_code ?? reason ?? t(`events.hook.${result}`)}
        </Badge>
      ),
    },
    {
      id: 'ms',
      title: t('events.hook.ms'),
      isWide: true,
      isNumber: true,
      show: ({ duration_ms }) => `${duration_ms} ms`,
    },
  ]
}

const ReplayFailed = ({ attempt }: { attempt: Attempt }) => {
  const { t } = useTranslation()
  const replaying = useReplay()
  if (attempt.result === 'success') return null
  return (
    <RowAction
      label={t('events.hook.replayOf', { event: attempt.hook_event })}
      onClick={() => replaying.mutate(attempt)}
    >
      <RotateCw size={18} aria-hidden />
    </RowAction>
  )
}

/** Attempts with what was sent and what came back. `more`: columns behind the time. */
const AttemptList = ({
  more = [],
  ...list
}: Pick<Parameters<typeof RowList<Attempt>>[0], 'label' | 'queryKey' | 'list' | 'empty'> & {
  more?: readonly Column<Attempt>[]
}) => {
  const { t } = useTranslation()
  const [shown, setShown] = useState<Attempt>()
  const [time, ...rest] = useColumns(setShown)
  const replay: Column<Attempt> = {
    id: 'replay',
    title: t('events.hook.action'),
    isNumber: true,
    show: (attempt) => <ReplayFailed attempt={attempt} />,
  }
  return (
    <>
      <RowList
        {...list}
        columns={[...(time ? [time] : []), ...more, ...rest, replay]}
        order={{ by: 'at', descending: true }}
        rowKey={({ id }) => id}
      />
      {shown && <AttemptDetails attempt={shown} onClose={() => setShown(undefined)} />}
    </>
  )
}

/** What was sent to the webhook, and what came back. */
export const Attempts = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const { webhookId = '' } = useParams()
  const path = { account_id: accountId, webhook_id: webhookId }
  return (
    <AttemptList
      label={t('events.hook.attempts')}
      queryKey={['webhook_attempt', accountId, webhookId]}
      list={listOf(listWebhookAttempts, { path })}
      empty={<Empty Icon={Webhook} text={t('events.hook.noAttempts')} />}
    />
  )
}

/** The name of the webhook, which may be deleted. */
const WebhookName = ({ id }: { id: string }) => {
  const { accountId } = usePlace()
  const to = useTo()
  const { data } = useAnswer(['webhook', accountId, 'all'], (signal) =>
    listWebhooks({ ...api, path: { account_id: accountId }, query: { paginate: false }, signal }),
  )
  const hook = data?.data.find((one) => one.id === id)
  if (!hook) return '–'
  return (
    <ToScreen to={to(`events/webhooks/${id}`)}>
      <bdi>{hook.name}</bdi>
    </ToScreen>
  )
}

/** The attempts of all webhooks of the account, newest first. */
export const DeliveryList = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const [onlyFailed, setOnlyFailed] = useState(false)
  const path = { account_id: accountId }
  const filters = onlyFailed ? { filters: { filter_result: 'failure' } } : {}
  return (
    <Screen
      title={t('events.deliveries')}
      actions={
        <ButtonToScreen to={to('events/webhooks')} variant="default">
          {t('events.webhooks')}
        </ButtonToScreen>
      }
    >
      <Switch
        label={t('events.hook.onlyFailed')}
        checked={onlyFailed}
        onChange={({ currentTarget }) => setOnlyFailed(currentTarget.checked)}
      />
      <AttemptList
        label={t('events.deliveries')}
        queryKey={['webhook_attempt', accountId, onlyFailed]}
        list={listOf(listAccountWebhookAttempts, { path, query: filters })}
        more={[
          {
            id: 'hook',
            title: t('events.hook.hook'),
            isExtra: true,
            show: ({ hook_id }) => <WebhookName id={hook_id} />,
          },
          { id: 'uri', title: t('events.hook.whom'), isWide: true, show: ({ uri }) => uri },
        ]}
        empty={
          <Empty Icon={Webhook} text={t(onlyFailed ? 'events.hook.noFailed' : 'events.hook.noDeliveries')} />
        }
      />
    </Screen>
  )
}
