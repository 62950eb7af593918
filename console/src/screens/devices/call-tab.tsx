import { CrosspointError, quickcallFromDevice, syncDevice } from '@crosspoint/client'
import { Alert, Button, Group, Stack, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { PhoneOff } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { tellDone } from '../../lib/toasts.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { LineForm, Titled } from '../../parts/titled.tsx'

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

/** A request to the phone through the phone switch; its result is shown in place. */
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
    <Titled title={t('devices.quickCall')} text={t('devices.quickCallText')}>
      <LineForm onSubmit={() => calling.mutate(number)}>
        <TextInput
          label={t('devices.numberToCall')}
          type="tel"
          value={number}
          onChange={({ currentTarget: { value } }) => setNumber(value)}
        />
        <Button type="submit" disabled={number.trim() === ''} loading={calling.isPending}>
          {t('devices.call')}
        </Button>
      </LineForm>
      {calling.error && <SwitchFailure error={calling.error} />}
    </Titled>
  )
}

const Sync = ({ path }: { path: DevicePath }) => {
  const { t } = useTranslation()
  const [opened, { open, close }] = useDisclosure(false)
  const syncing = useAsking(
    (reboot: boolean) => syncDevice({ ...api, path, query: { reboot } }),
    t('devices.asked'),
  )
  return (
    <Titled title={t('devices.sync')} text={t('devices.syncText')}>
      <Group gap="sm">
        <Button variant="default" loading={syncing.isPending} onClick={() => syncing.mutate(false)}>
          {t('devices.reload')}
        </Button>
        <Button variant="default" onClick={open}>
          {t('devices.reboot')}
        </Button>
      </Group>
      <Confirm
        opened={opened}
        title={t('devices.rebootTitle')}
        text={t('devices.rebootText')}
        action={t('devices.reboot')}
        onConfirm={() => {
          close()
          syncing.mutate(true)
        }}
        onClose={close}
      />
      {syncing.error && <SwitchFailure error={syncing.error} />}
    </Titled>
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
    <Titled title={t('devices.notify')} text={t('devices.notifyText')}>
      <LineForm onSubmit={() => sending.mutate(event)}>
        <TextInput
          label={t('devices.event')}
          value={event}
          onChange={({ currentTarget: { value } }) => setEvent(value)}
        />
        <Button type="submit" variant="default" disabled={event === ''} loading={sending.isPending}>
          {t('devices.send')}
        </Button>
      </LineForm>
      {sending.error && <SwitchFailure error={sending.error} />}
    </Titled>
  )
}

/** Requests to a phone through the phone switch. */
export const CallTab = ({ path }: { path: DevicePath }) => (
  <Stack gap="xl" maw="60rem">
    <QuickCall path={path} />
    <Sync path={path} />
    <Notify path={path} />
  </Stack>
)
