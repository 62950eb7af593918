import { type FiguresOfASubAccount, listFigureChildren } from '@crosspoint/client'
import { Badge, Group, Stack, Text, Title } from '@mantine/core'
import { Building2 } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showMoney, showNumber } from '../../lib/amounts.ts'
import { api } from '../../lib/api.ts'
import { listOf } from '../../lib/list-source.ts'
import { Empty } from '../../parts/empty.tsx'
import { ToScreen } from '../../parts/link.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'

// With more accounts below, the API sorts by name only.
const mostSorted = 10_000
const rowsRead = 50
const every = 60_000

const Name = ({ row: { id, name, enabled, is_reseller } }: { row: FiguresOfASubAccount }) => {
  const { t } = useTranslation()
  return (
    <Group gap="xs" wrap="nowrap">
      <Text span inherit truncate>
        <ToScreen to={`/a/${id}/overview`}>
          <bdi>{name}</bdi>
        </ToScreen>
      </Text>
      {is_reseller && (
        <Badge color="blue" style={{ flexShrink: 0 }} visibleFrom="sm">
          {t('accounts.reseller')}
        </Badge>
      )}
      {!enabled && (
        <Badge color="red" style={{ flexShrink: 0 }}>
          {t('frame.disabled')}
        </Badge>
      )}
    </Group>
  )
}

const useColumns = (): readonly Column<FiguresOfASubAccount>[] => {
  const { t } = useTranslation()
  return [
    { id: 'name', title: t('accounts.name'), show: (row) => <Name row={row} /> },
    {
      id: 'balance',
      title: t('overview.balance'),
      isNumber: true,
      show: ({ balance }) => (
        <Text span inherit {...(balance < 0 ? { c: 'var(--mantine-color-error)', fw: 600 } : {})}>
          {showMoney(balance)}
        </Text>
      ),
    },
    {
      id: 'calls',
      title: t('overview.callsOver30Days'),
      isNumber: true,
      isExtra: true,
      show: ({ calls }) => showNumber(calls),
    },
    {
      id: 'alerts',
      title: t('overview.alertCount'),
      isNumber: true,
      show: ({ id, alerts }) =>
        alerts === 0 ? '–' : <ToScreen to={`/a/${id}/alerts`}>{showNumber(alerts)}</ToScreen>,
    },
    {
      id: 'below',
      title: t('accounts.below'),
      isNumber: true,
      isExtra: true,
      show: ({ descendants_count: count }) => (count === 0 ? '–' : showNumber(count)),
    },
  ]
}

interface Order {
  sort: string
  descending: boolean
}

/** The direct sub-accounts, lowest balance first. `accounts`: the number of all accounts below. */
export const Customers = ({ accounts }: { accounts: number }) => {
  const { t } = useTranslation()
  const { accountId, isMaster } = usePlace()
  const to = useTo()
  const isSortable = accounts <= mostSorted
  const [chosen, setChosen] = useState<Order>({ sort: 'balance', descending: false })
  const order = isSortable ? chosen : { sort: 'name', descending: false }
  const columns = useColumns().map((column) =>
    isSortable && ['name', 'balance', 'calls'].includes(column.id)
      ? {
          ...column,
          sorted:
            column.id !== order.sort
              ? ('none' as const)
              : order.descending
                ? ('descending' as const)
                : ('ascending' as const),
          onSort: () =>
            setChosen({
              sort: column.id,
              descending: column.id === order.sort ? !order.descending : column.id === 'calls',
            }),
        }
      : column,
  )
  const path = { account_id: accountId }
  const figures = listOf(listFigureChildren, { path, query: order })
  const title = t(isMaster ? 'overview.topAccounts' : 'overview.customers')
  return (
    <Stack gap="xs" component="section">
      <Title order={2} size="h4">
        {title}
      </Title>
      <RowList
        label={title}
        queryKey={['figures', accountId, 'children', order]}
        list={{
          ...figures,
          page: ({ start_key }, signal) =>
            listFigureChildren({ ...api, path, query: { ...order, page_size: rowsRead, start_key }, signal }),
        }}
        columns={columns}
        rowKey={({ id }) => id}
        every={every}
        empty={
          <Empty
            Icon={Building2}
            text={t('accounts.empty')}
            next={{ to: to('accounts/new'), label: t('accounts.new') }}
          />
        }
      />
    </Stack>
  )
}
