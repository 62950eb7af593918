import { listPhoneNumbers } from '@crosspoint/client'
import { Badge, Button, Checkbox, Group, Select, Text } from '@mantine/core'
import { Hash, SearchX } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { api } from '../../lib/api.ts'
import { type ListSource, listOf } from '../../lib/list-source.ts'
import type { Page } from '../../lib/pages.ts'
import { showDay } from '../../lib/times.ts'
import { Empty } from '../../parts/empty.tsx'
import { ButtonToScreen, ToScreen } from '../../parts/link.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'
import { SearchBox } from '../../parts/search-box.tsx'
import { Several } from './several.tsx'
import { ownedStates, StateBadge } from './states.tsx'

/** The columns of the list. */
interface NumberRow {
  id: string
  state: string
  used_by?: string
  features?: readonly string[]
  created?: number
  locality?: object
}

const usedBys = ['callflow', 'trunkstore', 'mobile', 'nothing'] as const

interface Filter {
  /** The beginning of a number: with the plus. */
  prefix: string
  state: string | null
  usedBy: string | null
}

const filtersOf = ({ usedBy }: Filter): Record<string, string> => {
  if (usedBy === null) return {}
  return usedBy === 'nothing' ? { key_missing: 'used_by' } : { filter_used_by: usedBy }
}

const useList = (filter: Filter): ListSource<NumberRow> => {
  const path = { account_id: usePlace().accountId }
  const { prefix, state } = filter
  const common = {
    descending: false,
    filters: filtersOf(filter),
    ...(state === null ? {} : { filter_state: state }),
  }
  const page = async (
    { start_key }: { start_key?: string },
    signal: AbortSignal,
  ): Promise<Page<NumberRow>> => {
    const start = start_key ?? (prefix === '' ? undefined : prefix)
    const query = { ...common, ...(start === undefined ? {} : { start_key: start }) }
    const found = await listPhoneNumbers({ ...api, path, query, signal })
    const numbers = Array.isArray(found.data) ? {} : found.data.numbers
    const rows = Object.entries(numbers).map(([id, number]) => ({ ...number, id }))
    const next = found.next_start_key
    if (next?.startsWith(prefix)) return { data: rows, next_start_key: next }
    // In the order of the numbers nothing that begins otherwise is followed by something that begins so.
    return { data: rows.filter(({ id }) => id.startsWith(prefix)) }
  }
  // The API has no filter for the beginning of a number: a file of them would contain all others.
  return prefix === '' ? { page, csv: listOf(listPhoneNumbers, { path, query: common }).csv } : { page }
}

const prefixIn = (typed: string) => {
  const digits = typed.replace(/\D/g, '').slice(0, 15)
  return digits === '' ? '' : `+${digits}`
}

const useColumns = (
  chosen: ReadonlySet<string>,
  choose: (number: string, isChosen: boolean) => void,
): readonly Column<NumberRow>[] => {
  const { t } = useTranslation()
  const to = useTo()
  const { timezone } = usePlace()
  return [
    {
      id: 'chosen',
      title: t('numbers.choose'),
      show: ({ id }) => (
        <Checkbox
          aria-label={t('numbers.chooseNumber', { number: id })}
          checked={chosen.has(id)}
          onChange={({ currentTarget }) => choose(id, currentTarget.checked)}
        />
      ),
    },
    {
      id: 'number',
      title: t('numbers.number'),
      show: ({ id }) => <ToScreen to={to(`numbers/${id}`)}>{id}</ToScreen>,
    },
    { id: 'state', title: t('numbers.state'), show: ({ state }) => <StateBadge state={state} /> },
    {
      id: 'usedBy',
      title: t('numbers.usedBy'),
      isExtra: true,
      show: ({ used_by }) => (used_by ? t(`numbers.usedBys.${used_by}`, { defaultValue: used_by }) : ''),
    },
    {
      id: 'features',
      title: t('numbers.features'),
      isExtra: true,
      show: ({ features = [] }) => (
        <Group gap={4} wrap="nowrap">
          {features.map((feature) => (
            <Badge key={feature} variant="default">
              {t(`numbers.feature.${feature}`, { defaultValue: feature })}
            </Badge>
          ))}
        </Group>
      ),
    },
    {
      id: 'since',
      title: t('numbers.since'),
      isExtra: true,
      show: ({ created }) => (created === undefined ? '' : showDay(created, timezone)),
    },
  ]
}

const Filters = ({ filter, onFilter }: { filter: Filter; onFilter: (filter: Filter) => void }) => {
  const { t } = useTranslation()
  return (
    <Group gap="sm" align="end">
      <SearchBox
        label={t('numbers.search')}
        onSearch={(text) => onFilter({ ...filter, prefix: prefixIn(text) })}
      />
      <Select
        aria-label={t('numbers.state')}
        placeholder={t('numbers.anyState')}
        data={ownedStates.map((value) => ({ value, label: t(`numbers.states.${value}`) }))}
        value={filter.state}
        onChange={(state) => onFilter({ ...filter, state })}
        clearable
        clearButtonProps={{ 'aria-label': t('numbers.anyState') }}
      />
      <Select
        aria-label={t('numbers.usedBy')}
        placeholder={t('numbers.anyUse')}
        data={usedBys.map((value) => ({ value, label: t(`numbers.usedBys.${value}`) }))}
        value={filter.usedBy}
        onChange={(usedBy) => onFilter({ ...filter, usedBy })}
        clearable
        clearButtonProps={{ 'aria-label': t('numbers.anyUse') }}
      />
    </Group>
  )
}

const useChosen = () => {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const choose = (number: string, isChosen: boolean) =>
    setChosen((before) => {
      const after = new Set(before)
      if (isChosen) after.add(number)
      else after.delete(number)
      return after
    })
  return { chosen, choose, forget: () => setChosen(new Set()) }
}

/** The numbers of an account, several of which can be dealt with at once. */
export const NumberList = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const [filter, setFilter] = useState<Filter>({ prefix: '', state: null, usedBy: null })
  const isFiltered = filter.prefix !== '' || filter.state !== null || filter.usedBy !== null
  const { chosen, choose, forget } = useChosen()
  // Hidden numbers are not changed: a new filter clears the selection.
  const narrow = (next: Filter) => {
    setFilter(next)
    forget()
  }
  const list = useList(filter)
  const columns = useColumns(chosen, choose)
  return (
    <Screen
      title={t('screens.numbers')}
      actions={
        <>
          <ButtonToScreen to={to('numbers/new')} variant="default">
            {t('numbers.add')}
          </ButtonToScreen>
          <ButtonToScreen to={to('numbers/stock')}>{t('numbers.stock')}</ButtonToScreen>
        </>
      }
    >
      <Filters filter={filter} onFilter={narrow} />
      {chosen.size > 0 && (
        <Group gap="xs" role="group" aria-label={t('numbers.chosen', { count: chosen.size })}>
          <Text size="sm" role="status">
            {t('numbers.chosen', { count: chosen.size })}
          </Text>
          <Several numbers={[...chosen]} onDone={forget} />
          <Button variant="subtle" size="xs" onClick={forget}>
            {t('numbers.chooseNone')}
          </Button>
        </Group>
      )}
      <RowList
        label={t('screens.numbers')}
        queryKey={['number', accountId, filter.prefix, filter.state, filter.usedBy]}
        list={list}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          isFiltered ? (
            <Empty Icon={SearchX} text={t('numbers.noneFound')} />
          ) : (
            <Empty
              Icon={Hash}
              text={t('numbers.empty')}
              next={{ to: to('numbers/stock'), label: t('numbers.stock') }}
            />
          )
        }
      />
    </Screen>
  )
}
