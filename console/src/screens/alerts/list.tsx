import { type AlertRow, deleteAlert, listAlerts } from '@crosspoint/client'
import { Badge, Button, Card, Group, Stack, Text, Title } from '@mantine/core'
import { CircleCheck } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useAnswer, useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { useAskingPeriod } from '../../lib/feed.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { Empty } from '../../parts/empty.tsx'
import { ButtonToScreen } from '../../parts/link.tsx'
import { Loading } from '../../parts/screen.tsx'

const colors: Readonly<Record<string, string>> = { critical: 'red', warning: 'orange', info: 'blue' }

/** Where that is put right which an alert of a category complains of. */
const remedies: Readonly<Record<string, { screen: string; text: string }>> = {
  low_balance: { screen: 'money', text: 'alerts.toMoney' },
  no_payment_token: { screen: 'money', text: 'alerts.toMoney' },
  expired_payment_token: { screen: 'money', text: 'alerts.toMoney' },
  port_action_required: { screen: 'numbers', text: 'alerts.toNumbers' },
  provisioner: { screen: 'devices', text: 'alerts.toDevices' },
}

const messageOf = ({ message }: AlertRow) => (typeof message === 'string' ? message : JSON.stringify(message))

const Alert = ({ alert }: { alert: AlertRow }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const { id, title, category = '', level = 'info', clearable } = alert
  const clearing = useChange({
    touches: ['alert'],
    run: () => deleteAlert({ ...api, path: { account_id: accountId, alert_id: id } }),
    done: () => tellDone(t('alerts.cleared')),
  })
  const remedy = remedies[category]
  return (
    <Card withBorder component="li">
      <Group justify="space-between" align="flex-start">
        <Stack gap={4} style={{ minWidth: 0, flex: 1 }}>
          <Group gap="xs">
            <Badge color={colors[level] ?? 'gray'}>
              {t(`alerts.level.${level}`, { defaultValue: level })}
            </Badge>
            <Title order={2} size="h5" dir="auto" style={{ overflowWrap: 'anywhere' }}>
              {title}
            </Title>
          </Group>
          <Text size="sm" dir="auto" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
            {messageOf(alert)}
          </Text>
        </Stack>
        <Group gap="xs">
          {remedy && (
            <ButtonToScreen to={to(remedy.screen)} variant="default" size="xs">
              {t(remedy.text)}
            </ButtonToScreen>
          )}
          {clearable && (
            <Button
              variant="default"
              size="xs"
              loading={clearing.isPending}
              onClick={() => clearing.mutate(undefined)}
              aria-label={t('alerts.clearNamed', { title })}
            >
              {t('alerts.clear')}
            </Button>
          )}
        </Group>
      </Group>
    </Card>
  )
}

/** The open alerts. Alerts about the state of the account end when their cause ends. */
export const AlertList = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  // Most alerts follow from the state of the account, without an event.
  const every = useAskingPeriod(30_000) || 60_000
  const found = useAnswer(
    ['alert', accountId],
    (signal) => listAlerts({ ...api, path: { account_id: accountId }, query: { paginate: false }, signal }),
    { every },
  )
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const alerts = found.data.data
  if (alerts.length === 0)
    return (
      <div role="status">
        <Empty Icon={CircleCheck} text={t('alerts.none')} />
      </div>
    )
  return (
    <Stack component="ul" gap="sm" p={0} m={0} style={{ listStyle: 'none' }}>
      {alerts.map((alert) => (
        <Alert key={alert.id} alert={alert} />
      ))}
    </Stack>
  )
}
