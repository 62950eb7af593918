import { getCdrStats } from '@crosspoint/client'
import { Group, SegmentedControl, Select, SimpleGrid, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useSearchParams } from 'wouter'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { RecordChoice } from '../../parts/record-select.tsx'
import { SearchBox } from '../../parts/search-box.tsx'
import { type Days, daysOf, isPreset, type Preset, presets, windowOf } from './range.ts'

const defaultPreset: Preset = 'week'

// The name of a filter in the address, and the field it filters.
const filterFields = {
  user: 'custom_channel_vars.owner_id',
  caller: 'caller_id_number',
  callee: 'callee_id_number',
  direction: 'call_direction',
  cause: 'hangup_cause',
} as const

type Filter = keyof typeof filterFields
const filters = Object.keys(filterFields) as Filter[]

const isDay = (text: string | null): text is string => text !== null && /^\d{4}-\d\d-\d\d$/.test(text)

const daysIn = (params: URLSearchParams, timezone: string | undefined): Days => {
  const [from, to] = [params.get('from'), params.get('to')]
  if (isDay(from)) return { from, ...(isDay(to) && to >= from ? { to } : {}) }
  const range = params.get('range')
  return daysOf(isPreset(range) ? range : defaultPreset, timezone)
}

/** The filters in the address: a copied link shows the same list. */
export const useCallFilters = () => {
  const { timezone } = usePlace()
  const [params, setParams] = useSearchParams()
  const days = daysIn(params, timezone)
  const set = (changes: Readonly<Record<string, string | null>>) =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before)
        for (const [name, value] of Object.entries(changes)) {
          if (value === null || value === '') next.delete(name)
          else next.set(name, value)
        }
        return next
      },
      { replace: true },
    )
  const range = params.get('range')
  return {
    days,
    preset: isDay(params.get('from')) ? 'own' : isPreset(range) ? range : defaultPreset,
    window: windowOf(days, timezone),
    value: (name: Filter) => params.get(name) ?? '',
    /** For the query of a list. */
    filters: Object.fromEntries(
      filters.flatMap((name) => {
        const value = params.get(name)
        return value ? [[`filter_${filterFields[name]}`, value]] : []
      }),
    ),
    set,
    search: params.toString(),
  }
}

export type CallFilters = ReturnType<typeof useCallFilters>

const DayInput = ({
  label,
  day,
  onDay,
}: {
  label: string
  day: string | undefined
  onDay: (day: string) => void
}) => (
  <TextInput
    type="date"
    label={label}
    value={day ?? ''}
    onChange={({ currentTarget: { value } }) => onDay(value)}
  />
)

/** Today, the last days, or any: days of the account's zone. */
export const RangeChoice = ({ days, preset, set }: Pick<CallFilters, 'days' | 'preset' | 'set'>) => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const choose = (chosen: string) =>
    set(
      isPreset(chosen)
        ? { range: chosen, from: null, to: null }
        : { range: null, from: days.from, to: days.to ?? daysOf('today', timezone).from },
    )
  return (
    <Group align="end" gap="sm">
      <SegmentedControl
        transitionDuration={0}
        aria-label={t('calls.range')}
        value={preset}
        onChange={choose}
        data={[...Object.keys(presets), 'own'].map((value) => ({ value, label: t(`calls.ranges.${value}`) }))}
      />
      {preset === 'own' && (
        <>
          <DayInput label={t('calls.from')} day={days.from} onDay={(from) => isDay(from) && set({ from })} />
          <DayInput label={t('calls.to')} day={days.to} onDay={(to) => set({ to })} />
        </>
      )}
    </Group>
  )
}

/** Why calls ended in the range, the most frequent reason first. */
const useCauses = ({ window }: CallFilters) => {
  const { accountId } = usePlace()
  const query = { ...window, interval: 'month', group_by: 'hangup_cause' }
  const found = useAnswer(['cdr', accountId, 'causes', query], (signal) =>
    getCdrStats({ ...api, path: { account_id: accountId }, query, signal }),
  )
  const calls = new Map<string, number>()
  for (const { group = '', calls: count } of found.data?.data ?? [])
    calls.set(group, (calls.get(group) ?? 0) + count)
  return [...calls]
    .filter(([cause]) => cause !== '')
    .sort(([, one], [, other]) => other - one)
    .map(([cause]) => cause)
}

/** What the store itself filters by: nothing here makes it look at every call. */
export const FilterBar = ({ filters }: { filters: CallFilters }) => {
  const { t } = useTranslation()
  const { value, set } = filters
  const causes = useCauses(filters)
  const cause = value('cause')
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 5 }} spacing="sm">
      <RecordChoice
        kind="user"
        label={t('calls.user')}
        placeholder={t('calls.any')}
        value={value('user') || null}
        onChange={(user) => set({ user })}
      />
      <SearchBox
        label={t('calls.caller')}
        isLabelShown
        initial={value('caller')}
        onSearch={(caller) => set({ caller })}
      />
      <SearchBox
        label={t('calls.callee')}
        isLabelShown
        initial={value('callee')}
        onSearch={(callee) => set({ callee })}
      />
      <Select
        label={t('calls.direction')}
        placeholder={t('calls.any')}
        clearable
        value={value('direction') || null}
        onChange={(direction) => set({ direction })}
        data={['inbound', 'outbound'].map((one) => ({ value: one, label: t(`calls.directions.${one}`) }))}
      />
      <Select
        label={t('calls.cause')}
        placeholder={t('calls.any')}
        clearable
        searchable
        value={cause || null}
        onChange={(chosen) => set({ cause: chosen })}
        data={cause === '' || causes.includes(cause) ? causes : [...causes, cause]}
      />
    </SimpleGrid>
  )
}
