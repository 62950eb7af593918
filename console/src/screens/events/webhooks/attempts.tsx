import { type AttemptToTellAWebhook, listWebhookAttempts, replayWebhook } from '@crosspoint/client'
import { Badge, Button, Code, Modal, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { usePlace } from '../../../frame/place.tsx'
import { useChange } from '../../../lib/answers.ts'
import { api } from '../../../lib/api.ts'
import { showTime } from '../../../lib/times.ts'
import { tellDone } from '../../../lib/toasts.tsx'
import { type Column, RowList } from '../../../parts/row-list.tsx'

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

const AttemptDetails = ({ attempt, onClose }: { attempt: Attempt; onClose: () => void }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const {
    id,
    hook_id,
    method,
    uri,
    req_headers,
    req_body,
    resp_status_code,
    resp_body,
    reason,
    client_error,
  } = attempt
  const replaying = useChange({
    touches: ['webhook_attempt'],
    run: () =>
      replayWebhook({
        ...api,
        path: { account_id: accountId, webhook_id: hook_id },
        body: { data: { attempt_id: id } },
      }),
    done: () => {
      tellDone(t('events.hook.replayed'))
      onClose()
    },
  })
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
        <Button loading={replaying.isPending} onClick={() => replaying.mutate(undefined)}>
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
        <Button variant="subtle" size="compact-sm" onClick={() => open(attempt)}>
          {showTime(attempt.timestamp, timezone)}
        </Button>
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
      isExtra: true,
      isNumber: true,
      show: ({ duration_ms }) => `${duration_ms} ms`,
    },
  ]
}

/** What was sent to the webhook, and what came back. */
export const Attempts = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const { webhookId = '' } = useParams()
  const [shown, setShown] = useState<Attempt>()
  const columns = useColumns(setShown)
  const path = { account_id: accountId, webhook_id: webhookId }
  return (
    <>
      <RowList
        label={t('events.hook.attempts')}
        queryKey={['webhook_attempt', accountId, webhookId]}
        read={(start_key, signal) => listWebhookAttempts({ ...api, path, query: { start_key }, signal })}
        columns={columns}
        rowKey={({ id }) => id}
        empty={<Text>{t('events.hook.noAttempts')}</Text>}
      />
      {shown && <AttemptDetails attempt={shown} onClose={() => setShown(undefined)} />}
    </>
  )
}
