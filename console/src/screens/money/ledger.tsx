import { listAvailableLedgers, listLedgerEntries } from '@crosspoint/client'
import { Group, Select } from '@mantine/core'
import { ReceiptText } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useLocation, useParams } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showNumber } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { listOf } from '../../lib/list-source.ts'
import { showTime } from '../../lib/times.ts'
import { Empty } from '../../parts/empty.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'
import { Amount } from './amount.tsx'
import { PeriodFields, usePeriod } from './period.tsx'

interface EntryRow {
  id: string
  amount: number
  description?: string
  source: { service: string; id: string }
  usage: { type: string; quantity: number; unit: string }
  created?: number
}

const useColumns = (): readonly Column<EntryRow>[] => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  return [
    {
      id: 'time',
      title: t('money.time'),
      show: ({ created }) => (created === undefined ? '' : showTime(created, timezone)),
    },
    {
      id: 'description',
      title: t('money.description'),
      show: ({ description, source }) => <span dir="auto">{description ?? source.id}</span>,
    },
    {
      id: 'amount',
      title: t('money.amount'),
      isNumber: true,
      show: ({ amount }) => <Amount amount={amount} />,
    },
    {
      id: 'usage',
      title: t('money.usage'),
      isExtra: true,
      show: ({ usage }) => `${showNumber(usage.quantity)} ${usage.unit} (${usage.type})`,
    },
    { id: 'reference', title: t('money.reference'), isExtra: true, show: ({ source }) => source.id },
  ]
}

const SourceSelect = ({ source }: { source: string }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const [, go] = useLocation()
  const found = useAnswer(['ledger', accountId, 'available'], (signal) =>
    listAvailableLedgers({ ...api, path: { account_id: accountId }, signal }),
  )
  const ledgers = (found.data?.data ?? []).map(({ name, friendly_name }) => ({
    value: name,
    label: t(`money.source.${name}`, { defaultValue: friendly_name }),
  }))
  const data = ledgers.some(({ value }) => value === source)
    ? ledgers
    : [...ledgers, { value: source, label: source }]
  return (
    <Select
      label={t('money.ledger')}
      data={data}
      value={source}
      onChange={(chosen) => chosen && go(to(`money/ledgers/${encodeURIComponent(chosen)}`))}
      allowDeselect={false}
    />
  )
}

/** The entries of one ledger, newest first. */
export const LedgerList = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const { source = 'services' } = useParams()
  const period = usePeriod()
  const columns = useColumns()
  const path = { account_id: accountId, source }
  const { window } = period
  return (
    <Screen title={t('money.part.ledgers')}>
      <Group align="end" gap="sm">
        <SourceSelect source={source} />
        <PeriodFields period={period} />
      </Group>
      <RowList
        key={source}
        label={t('money.ledger')}
        queryKey={['ledger', accountId, 'entries', source, window.created_from, window.created_to]}
        list={listOf(listLedgerEntries, { path, query: window })}
        order={{ by: 'time', descending: true }}
        columns={columns}
        rowKey={({ id }) => id}
        empty={<Empty Icon={ReceiptText} text={t('money.noEntries')} />}
      />
    </Screen>
  )
}
