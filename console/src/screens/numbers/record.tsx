import {
  activatePhoneNumber,
  deletePhoneNumber,
  getPhoneNumber,
  reservePhoneNumber,
  updatePhoneNumber,
} from '@crosspoint/client'
import { Badge, Button, Code, Group, Stack, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useLocation, useParams } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useAnswer, useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { isObject, showJson, valueAt } from '../../lib/json.ts'
import { showTime } from '../../lib/times.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { RecordFormTabs } from '../../parts/record-form.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { touchedByNumbers } from './changes.ts'
import { groupsFor, own } from './fields.tsx'
import { RightsNote } from './rights.tsx'
import { StateBadge } from './states.tsx'

interface Shown {
  number: string
  state: string
}

type Doing = 'activate' | 'reserve' | 'release' | 'remove'

const useDoing = ({ number }: Shown) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const [, go] = useLocation()
  const path = { account_id: accountId, phone_number: number }
  const body = { data: {} }
  return useChange({
    touches: touchedByNumbers,
    run: (doing: Doing): Promise<unknown> => {
      switch (doing) {
        case 'activate':
          return activatePhoneNumber({ ...api, path, body })
        case 'reserve':
          return reservePhoneNumber({ ...api, path, body })
        case 'release':
          return deletePhoneNumber({ ...api, path })
        case 'remove':
          return deletePhoneNumber({ ...api, path, query: { hard: true } })
      }
    },
    done: (_, doing) => {
      tellDone(t(`numbers.did.${doing}`, { number }))
      if (doing === 'release' || doing === 'remove') go(to('numbers'))
    },
  })
}

const Actions = (shown: Shown) => {
  const { t } = useTranslation()
  const { actsForMaster } = usePlace()
  const [asked, setAsked] = useState<'release' | 'remove'>()
  const doing = useDoing(shown)
  const { number, state } = shown
  return (
    <>
      {state !== 'in_service' && (
        <Button loading={doing.isPending} onClick={() => doing.mutate('activate')}>
          {t('numbers.activate')}
        </Button>
      )}
      {state === 'in_service' && (
        <Button variant="default" loading={doing.isPending} onClick={() => doing.mutate('reserve')}>
          {t('numbers.reserve')}
        </Button>
      )}
      <Button variant="default" onClick={() => setAsked('release')}>
        {t('numbers.release')}
      </Button>
      {actsForMaster && (
        <Button variant="default" onClick={() => setAsked('remove')}>
          {t('numbers.remove')}
        </Button>
      )}
      <Confirm
        opened={asked !== undefined}
        title={t(asked === 'remove' ? 'numbers.removeTitle' : 'numbers.releaseTitle', { count: 1 })}
        text={`${number}: ${t(asked === 'remove' ? 'numbers.removeText' : 'numbers.releaseText')}`}
        action={t(asked === 'remove' ? 'numbers.remove' : 'numbers.release')}
        busy={doing.isPending}
        onConfirm={() => asked && doing.mutate(asked)}
        onClose={() => setAsked(undefined)}
      />
    </>
  )
}

const textsIn = (value: unknown) => (Array.isArray(value) ? value.map(String) : [])

const Facts = ({ record, metadata }: { record: object; metadata: Readonly<Record<string, unknown>> }) => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const state = 'state' in record ? String(record.state) : ''
  const usedBy = 'used_by' in record ? String(record.used_by) : ''
  const { carrier_module: carrier, created, modified, pending } = metadata
  const timeOf = (value: unknown) => (typeof value === 'number' ? showTime(value, timezone) : '')
  return (
    <Group gap="xs">
      <StateBadge state={state} />
      {pending === true && <Badge color="orange">{t('numbers.pending')}</Badge>}
      {usedBy && <Badge color="gray">{t(`numbers.usedBys.${usedBy}`, { defaultValue: usedBy })}</Badge>}
      <Text size="sm" c="dimmed">
        {t('numbers.facts', { carrier, created: timeOf(created), modified: timeOf(modified) })}
      </Text>
    </Group>
  )
}

/** Which features a number may have, which it has, and what is set of each. */
const Features = ({ available, settings }: { available: readonly string[]; settings: unknown }) => {
  const { t } = useTranslation()
  const on = isObject(settings) ? settings : {}
  const names = [...new Set([...Object.keys(on), ...available])].sort()
  if (names.length === 0) return <Text>{t('numbers.noFeatures')}</Text>
  return (
    <Table aria-label={t('numbers.features')}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('numbers.features')}</Table.Th>
          <Table.Th>{t('numbers.isOn')}</Table.Th>
          <Table.Th>{t('numbers.settings')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {names.map((name) => (
          <Table.Tr key={name}>
            <Table.Td>{t(`numbers.feature.${name}`, { defaultValue: name })}</Table.Td>
            <Table.Td>
              <Badge color={name in on ? 'green' : 'gray'}>
                {name in on ? t('numbers.on') : t('numbers.mayBe')}
              </Badge>
            </Table.Td>
            <Table.Td>{name in on && <Code>{showJson(on[name])}</Code>}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

/** The address goes as a whole: without its parts it is none. */
const RemoveAddress = ({ number }: { number: string }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const [opened, { open, close }] = useDisclosure(false)
  const removing = useChange({
    touches: touchedByNumbers,
    run: () =>
      updatePhoneNumber({
        ...api,
        path: { account_id: accountId, phone_number: number },
        body: { data: { e911: null } },
      }),
    done: () => {
      close()
      tellDone(t('saved'))
    },
  })
  return (
    <>
      <Button variant="default" onClick={open}>
        {t('numbers.removeAddress')}
      </Button>
      <Confirm
        opened={opened}
        title={t('numbers.removeAddressTitle')}
        text={t('numbers.removeAddressText', { number })}
        action={t('numbers.removeAddress')}
        busy={removing.isPending}
        onConfirm={() => removing.mutate(undefined)}
        onClose={close}
      />
    </>
  )
}

const NotOffered = ({ available }: { available: readonly string[] }) => {
  const { t } = useTranslation()
  const missing = ['cnam', 'e911'].filter((feature) => !available.includes(feature))
  if (missing.length === 0) return null
  return (
    <Text size="sm" c="dimmed">
      {t('numbers.notOffered', {
        features: missing.map((name) => t(`numbers.feature.${name}`)).join(', '),
      })}
    </Text>
  )
}

/** One number. */
export const NumberRecord = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const { number = '' } = useParams()
  const path = { account_id: accountId, phone_number: number }
  const found = useAnswer(['number', accountId, number], (signal) => getPhoneNumber({ ...api, path, signal }))
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { data, metadata, revision = '' } = found.data
  const features = isObject(metadata.features) ? metadata.features : {}
  const available = textsIn(features.available)
  return (
    <Screen title={number} actions={<Actions number={number} state={data.state} />}>
      <Facts record={data} metadata={metadata} />
      <RightsNote />
      <RecordFormTabs
        key={number}
        kind="number"
        apiPath={`/v2/accounts/${accountId}/phone_numbers/${encodeURIComponent(number)}`}
        schemaName="phone_numbers"
        groups={groupsFor(available)}
        own={own}
        record={data}
        revision={revision}
        save={(changes, more) => updatePhoneNumber({ ...api, ...more, path, body: { data: changes } })}
        tabs={[
          {
            id: 'features',
            title: t('numbers.features'),
            show: () => (
              <Stack>
                <Features available={available} settings={features.settings} />
                <NotOffered available={available} />
                {valueAt(features.settings, 'e911') !== undefined && <RemoveAddress number={number} />}
              </Stack>
            ),
          },
        ]}
      />
      <NotOffered available={available} />
    </Screen>
  )
}
