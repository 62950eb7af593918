import { type CallDetailRecord, getCdr } from '@crosspoint/client'
import { Code, ScrollArea, Stack, Tabs, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { isObject, type Json, jsonObjectOf, showJson } from '../../lib/json.ts'
import { showDuration, showTime } from '../../lib/times.ts'
import { Facts } from '../../parts/facts.tsx'
import { ToScreen } from '../../parts/link.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { Ladder } from './ladder.tsx'

/** Every value of a record with its dotted path. */
const leavesOf = (
  value: Json | undefined,
  path = '',
): readonly { path: string; value: Json | undefined }[] =>
  isObject(value)
    ? Object.keys(value)
        .sort()
        .flatMap((key) => leavesOf(value[key], path === '' ? key : `${path}.${key}`))
    : [{ path, value }]

const useMainFacts = (record: CallDetailRecord) => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const to = useTo()
  const { timestamp = 0, duration_seconds = 0, billing_seconds = 0 } = record
  const owner = record.custom_channel_vars?.owner_id
  const device = record.custom_channel_vars?.authorizing_id
  const isDevice = record.custom_channel_vars?.authorizing_type === 'device'
  const phone = device && isDevice ? <ToScreen to={to(`devices/${device}`)}>{device}</ToScreen> : device
  const facts: readonly (readonly [string, ReactNode])[] = [
    [t('calls.start'), showTime(timestamp - duration_seconds, timezone)],
    [t('calls.end'), showTime(timestamp, timezone)],
    [t('calls.caller'), [record.caller_id_number, record.caller_id_name].filter(Boolean).join(' · ')],
    [t('calls.callee'), [record.callee_id_number, record.callee_id_name].filter(Boolean).join(' · ')],
    [t('calls.direction'), record.call_direction && t(`calls.directions.${record.call_direction}`)],
    [t('calls.duration'), showDuration(duration_seconds)],
    [t('calls.talking'), showDuration(billing_seconds)],
    [t('calls.cause'), [record.hangup_cause, record.hangup_code].filter(Boolean).join(' · ')],
    [t('calls.user'), owner && <ToScreen to={to(`users/${owner}`)}>{owner}</ToScreen>],
    [t('calls.device'), phone],
  ]
  return facts.flatMap(([name, value]) => (value ? [{ key: name, name, value }] : []))
}

const CallTabs = ({ record, cdrId }: { record: CallDetailRecord; cdrId: string }) => {
  const { t } = useTranslation()
  const main = useMainFacts(record)
  const all = leavesOf(jsonObjectOf(record)).map(({ path, value }) => ({
    key: path,
    name: <Code>{path}</Code>,
    value: showJson(value),
  }))
  return (
    <Tabs defaultValue="call" keepMounted={false}>
      <Tabs.List mb="md">
        <Tabs.Tab value="call">{t('calls.call')}</Tabs.Tab>
        <Tabs.Tab value="fields">{t('calls.fields')}</Tabs.Tab>
        <Tabs.Tab value="json">JSON</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="call">
        <Stack gap="xl">
          <Facts label={t('calls.call')} rows={main} />
          {record.interaction_id && (
            <Stack gap="sm">
              <Title order={2} size="h4">
                {t('calls.legs')}
              </Title>
              <Text size="sm" c="dimmed">
                {t('calls.legsText')}
              </Text>
              <Ladder interactionId={record.interaction_id} cdrId={cdrId} />
            </Stack>
          )}
        </Stack>
      </Tabs.Panel>
      <Tabs.Panel value="fields">
        <Facts label={t('calls.fields')} rows={all} />
      </Tabs.Panel>
      <Tabs.Panel value="json">
        <ScrollArea.Autosize mah={640} type="auto" viewportProps={{ tabIndex: 0 }}>
          <Code block>{JSON.stringify(record, undefined, 2)}</Code>
        </ScrollArea.Autosize>
      </Tabs.Panel>
    </Tabs>
  )
}

/** One leg of a call, and the others of the same interaction. */
export const CallRecord = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const { cdrId: given = '' } = useParams()
  const cdrId = decodeURIComponent(given)
  const path = { account_id: accountId, cdr_id: cdrId }
  const found = useAnswer(['cdr', accountId, cdrId], (signal) => getCdr({ ...api, path, signal }))
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { data } = found.data
  const { caller_id_number: caller = '–', callee_id_number: callee = '–' } = data
  return (
    <Screen title={t('calls.title', { caller, callee })}>
      <CallTabs key={cdrId} record={data} cdrId={cdrId} />
    </Screen>
  )
}
