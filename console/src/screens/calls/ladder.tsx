import { type CallDetailRecord, getCdrLegs } from '@crosspoint/client'
import { Group, ScrollArea, Stack, Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { showDuration, showTime } from '../../lib/times.ts'
import { ToScreen } from '../../parts/link.tsx'
import { Loading } from '../../parts/screen.tsx'

/** When a leg began, was answered and ended, in Gregorian seconds. */
const timesOf = ({ timestamp = 0, duration_seconds = 0, billing_seconds = 0 }: CallDetailRecord) => ({
  start: timestamp - duration_seconds,
  answer: timestamp - billing_seconds,
  end: timestamp,
})

const barHeight = 14

/**
 * The time of a leg within the interaction: ringing, then talking. The columns next to it show the same as
 * text.
 */
const Bar = ({ leg, from, seconds }: { leg: CallDetailRecord; from: number; seconds: number }) => {
  const { start, answer, end } = timesOf(leg)
  const x = (at: number) => ((at - from) / seconds) * 100
  return (
    <svg width="100%" height={barHeight} aria-hidden="true" style={{ display: 'block' }}>
      <rect width="100%" height={barHeight} fill="var(--mantine-color-default-hover)" />
      <rect
        x={`${x(start)}%`}
        width={`${Math.max(x(answer) - x(start), 0.4)}%`}
        height={barHeight}
        fill="var(--mantine-color-yellow-5)"
      />
      <rect
        x={`${x(answer)}%`}
        width={`${x(end) - x(answer)}%`}
        height={barHeight}
        fill="var(--mantine-color-green-7)"
      />
    </svg>
  )
}

const Legend = () => {
  const { t } = useTranslation()
  return (
    <Group gap="lg" aria-hidden>
      {(['yellow-5', 'green-7'] as const).map((color) => (
        <Group key={color} gap={6}>
          <svg width={12} height={12} aria-hidden="true">
            <rect width={12} height={12} fill={`var(--mantine-color-${color})`} />
          </svg>
          <Text size="xs">{t(color === 'yellow-5' ? 'calls.ringing' : 'calls.talking')}</Text>
        </Group>
      ))}
    </Group>
  )
}

const LegRow = ({ leg, from, seconds, isThis }: LegProps) => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const to = useTo()
  const { start, answer } = timesOf(leg)
  const time = showTime(start, timezone)
  return (
    <Table.Tr aria-current={isThis || undefined} fw={isThis ? 600 : undefined}>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        {leg.id ? <ToScreen to={to(`calls/${encodeURIComponent(leg.id)}`)}>{time}</ToScreen> : time}
      </Table.Td>
      <Table.Td>
        <bdi>{leg.caller_id_number ?? '–'}</bdi> → <bdi>{leg.callee_id_number ?? '–'}</bdi>
      </Table.Td>
      <Table.Td>{leg.call_direction && t(`calls.directions.${leg.call_direction}`)}</Table.Td>
      <Table.Td miw={220}>
        <Bar leg={leg} from={from} seconds={seconds} />
      </Table.Td>
      <Table.Td ta="end">{showDuration(answer - start)}</Table.Td>
      <Table.Td ta="end">{showDuration(leg.billing_seconds ?? 0)}</Table.Td>
      <Table.Td>{leg.hangup_cause}</Table.Td>
    </Table.Tr>
  )
}

interface LegProps {
  leg: CallDetailRecord & { id?: string }
  from: number
  seconds: number
  isThis: boolean
}

const idOf = (leg: CallDetailRecord) => ('id' in leg && typeof leg.id === 'string' ? leg.id : undefined)

/** The legs of an interaction in the order of their beginning, each with its place in time. */
export const Ladder = ({ interactionId, cdrId }: { interactionId: string; cdrId: string }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const found = useAnswer(['cdr', accountId, 'legs', interactionId], (signal) =>
    getCdrLegs({ ...api, path: { account_id: accountId, interaction_id: interactionId }, signal }),
  )
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const legs = [...found.data.data].sort((one, other) => timesOf(one).start - timesOf(other).start)
  const from = Math.min(...legs.map((leg) => timesOf(leg).start))
  const seconds = Math.max(1, ...legs.map((leg) => timesOf(leg).end - from))
  return (
    <Stack gap="xs">
      <Legend />
      <ScrollArea type="auto" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': t('calls.legs') }}>
        <Table aria-label={t('calls.legs')}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('calls.start')}</Table.Th>
              <Table.Th>{t('calls.fromTo')}</Table.Th>
              <Table.Th>{t('calls.direction')}</Table.Th>
              <Table.Th>{t('calls.inTime')}</Table.Th>
              <Table.Th ta="end">{t('calls.ringing')}</Table.Th>
              <Table.Th ta="end">{t('calls.talking')}</Table.Th>
              <Table.Th>{t('calls.cause')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {legs.map((leg) => (
              <LegRow
                key={leg.call_id}
                leg={{ ...leg, id: idOf(leg) }}
                from={from}
                seconds={seconds}
                isThis={idOf(leg) === cdrId}
              />
            ))}
          </Table.Tbody>
        </Table>
      </ScrollArea>
    </Stack>
  )
}
