import { type CallDetailRecordRow, listCdrs } from '@crosspoint/client'
import { Badge, Group, Stack, Text } from '@mantine/core'
import { PhoneCall, SearchX } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showMoney } from '../../lib/amounts.ts'
import { api } from '../../lib/api.ts'
import { showDuration, showTime } from '../../lib/times.ts'
import { Empty } from '../../parts/empty.tsx'
import { ButtonToScreen, ToScreen } from '../../parts/link.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'
import { Export } from './export.tsx'
import { FilterBar, RangeChoice, useCallFilters } from './filters.tsx'

// One request for several screens of fast scrolling: each request costs throttling tokens.
const pageSize = 200
// Without a choice, rows have the columns of the CSV file and the whole record.
export const callFields = JSON.stringify([
  'id',
  'timestamp',
  'caller_id_number',
  'caller_id_name',
  'callee_id_number',
  'callee_id_name',
  'dialed_number',
  'direction',
  'duration_seconds',
  'billing_seconds',
  'hangup_cause',
  'cost',
])

// Costs are in units of 1/10,000.
const unitsOfOne = 10_000

const Somebody = ({ name = '', number = '' }: { name?: string; number?: string }) => (
  <>
    <bdi>{number || '–'}</bdi>
    {name !== '' && name !== number && (
      <Text span c="dimmed" size="xs" ml={6}>
        <bdi>{name}</bdi>
      </Text>
    )}
  </>
)

/** Whether the call was answered. */
const Ending = ({ row }: { row: CallDetailRecordRow }) => (
  <Badge color={Number(row.billing_seconds) > 0 ? 'green' : 'gray'}>{row.hangup_cause || '–'}</Badge>
)

export const useCallColumns = (): readonly Column<CallDetailRecordRow>[] => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const to = useTo()
  return [
    {
      id: 'start',
      title: t('calls.start'),
      show: ({ id, timestamp }) => (
        <ToScreen to={to(`calls/${encodeURIComponent(id)}`)}>
          {showTime(Number(timestamp), timezone)}
        </ToScreen>
      ),
    },
    {
      id: 'caller',
      title: t('calls.callerColumn'),
      show: ({ caller_id_name, caller_id_number }) => (
        <Somebody name={caller_id_name} number={caller_id_number} />
      ),
    },
    {
      id: 'callee',
      title: t('calls.calleeColumn'),
      show: ({ callee_id_name, callee_id_number, dialed_number }) => (
        <Somebody name={callee_id_name} number={callee_id_number || dialed_number} />
      ),
    },
    {
      id: 'direction',
      title: t('calls.direction'),
      isExtra: true,
      show: ({ direction }) => direction && t(`calls.directions.${direction}`, { defaultValue: direction }),
    },
    {
      id: 'duration',
      title: t('calls.duration'),
      isNumber: true,
      show: ({ duration_seconds }) => showDuration(Number(duration_seconds)),
    },
    { id: 'cause', title: t('calls.cause'), isExtra: true, show: (row) => <Ending row={row} /> },
    {
      id: 'cost',
      title: t('calls.cost'),
      isNumber: true,
      isExtra: true,
      show: ({ cost }) => (Number(cost) === 0 ? '–' : showMoney(Number(cost) / unitsOfOne)),
    },
  ]
}

/** The calls of an account: one row for each leg, newest first. */
export const CallList = () => {
  const { t } = useTranslation()
  const { accountId, timezone } = usePlace()
  const path = { account_id: accountId }
  const to = useTo()
  const columns = useCallColumns()
  const filters = useCallFilters()
  const query = { ...filters.window, filters: filters.filters, fields: callFields, page_size: pageSize }
  const isFiltered = Object.keys(filters.filters).length > 0
  return (
    <Screen
      title={t('screens.calls')}
      actions={
        <>
          <ButtonToScreen to={to('live-calls')} variant="default">
            {t('liveCalls.title')}
          </ButtonToScreen>
          <ButtonToScreen to={to(`calls/charts?${filters.search}`)} variant="default">
            {t('calls.charts')}
          </ButtonToScreen>
          <Export filters={filters} />
        </>
      }
    >
      <Stack gap="sm" mb="md">
        <Group justify="space-between" align="end">
          <RangeChoice {...filters} />
          <Text size="xs" c="dimmed">
            {t('calls.zone', { zone: timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone })}
          </Text>
        </Group>
        <FilterBar filters={filters} />
      </Stack>
      <RowList
        label={t('screens.calls')}
        queryKey={['cdr', accountId, filters.window, filters.filters]}
        list={{
          page: (page, signal) => listCdrs({ ...api, path, query: { ...query, ...page }, signal }),
        }}
        order={{ by: 'start', descending: true }}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          isFiltered ? (
            <Empty Icon={SearchX} text={t('calls.noneFound')} />
          ) : (
            <Empty Icon={PhoneCall} text={t('calls.empty')} />
          )
        }
      />
    </Screen>
  )
}
