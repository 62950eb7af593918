import { CrosspointError, quickcallFromDevice, syncDevice } from '@crosspoint/client'
import { Alert, Button, Group, Stack, Text, TextInput, Title } from '@mantine/core'
import { PhoneOff } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { tellDone } from '../../lib/toasts.tsx'

interface DevicePath {
  account_id: string
  device_id: string
}

const lacksSwitch = (error: unknown) =>
  error instanceof CrosspointError && error.kind === 'no media switch is configured'

/** Why nothing was asked of the phone. */
const SwitchFailure = ({ error }: { error: unknown }) => {
  const { t } = useTranslation()
  if (!lacksSwitch(error)) return <FailureNote error={error} />
  return (
    <Alert color="gray" icon={<PhoneOff aria-hidden />} title={t('devices.noSwitch')} role="alert">
      {t('devices.noSwitchText')}
    </Alert>
  )
}

const Part = ({ title, text, children }: { title: string; text: string; children: ReactNode }) => (
  <Stack component="section" aria-label={title} gap="sm">
    <Title order={2} size="h4">
      {title}
    </Title>
    <Text size="sm" c="dimmed">
      {text}
    </Text>
    {children}
  </Stack>
)

/** Something asked of the phone by way of the switch; what comes of it is told where it was asked. */
const useAsking = <Given,>(run: (given: Given) => Promise<unknown>, done: string) =>
  useChange({ touches: [], run, done: () => tellDone(done), failed: () => true })

const QuickCall = ({ path }: { path: DevicePath }) => {
  const { t } = useTranslation()
  const [number, setNumber] = useState('')
  const calling = useAsking(
    (wanted: string) => quickcallFromDevice({ ...api, path: { ...path, number: wanted } }),
    t('devices.calling'),
  )
  return (
    <Part title={t('devices.quickCall')} text={t('devices.quickCallText')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          calling.mutate(number)
        }}
      >
        <Group align="end" gap="sm">
          <TextInput
            label={t('devices.numberToCall')}
            type="tel"
            value={number}
            onChange={({ currentTarget: { value } }) => setNumber(value)}
          />
          <Button type="submit" disabled={number.trim() === ''} loading={calling.isPending}>
            {t('devices.call')}
          </Button>
        </Group>
      </form>
      {calling.error && <SwitchFailure error={calling.error} />}
    </Part>
  )
}

const Sync = ({ path }: { path: DevicePath }) => {
  const { t } = useTranslation()
  const syncing = useAsking(
    (reboot: 'true' | 'false') => syncDevice({ ...api, path, query: { reboot } }),
    t('devices.asked'),
  )
  return (
    <Part title={t('devices.sync')} text={t('devices.syncText')}>
      <Group gap="sm">
        <Button variant="default" loading={syncing.isPending} onClick={() => syncing.mutate('false')}>
          {t('devices.reload')}
        </Button>
        <Button variant="default" loading={syncing.isPending} onClick={() => syncing.mutate('true')}>
          {t('devices.reboot')}
        </Button>
      </Group>
      {syncing.error && <SwitchFailure error={syncing.error} />}
    </Part>
  )
}

const Notify = ({ path }: { path: DevicePath }) => {
  const { t } = useTranslation()
  const [event, setEvent] = useState('')
  const sending = useAsking(
    (wanted: string) =>
      crosspoint.request({
        method: 'PUT',
        path: `/v2/accounts/${path.account_id}/devices/${path.device_id}`,
        data: { data: { event: wanted } },
        envelope: { action: 'notify' },
      }),
    t('devices.asked'),
  )
  return (
    <Part title={t('devices.notify')} text={t('devices.notifyText')}>
      <form
        onSubmit={(submitted) => {
          submitted.preventDefault()
          sending.mutate(event)
        }}
      >
        <Group align="end" gap="sm">
          <TextInput
            label={t('devices.event')}
            value={event}
            onChange={({ currentTarget: { value } }) => setEvent(value)}
          />
          <Button type="submit" variant="default" disabled={event === ''} loading={sending.isPending}>
            {t('devices.send')}
          </Button>
        </Group>
      </form>
      {sending.error && <SwitchFailure error={sending.error} />}
    </Part>
  )
}

/** What a phone is asked to do, by way of the switch. */
export const CallTab = ({ path }: { path: DevicePath }) => (
  <Stack gap="xl" maw="60rem">
    <QuickCall path={path} />
    <Sync path={path} />
    <Notify path={path} />
  </Stack>
)
