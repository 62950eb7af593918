import { listRates } from '@crosspoint/client'
import { Badge, Box, Group, Select, Text } from '@mantine/core'
import { SearchX, Tags } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showCallPrice } from '../../lib/amounts.ts'
import { listOf } from '../../lib/list-source.ts'
import { Empty } from '../../parts/empty.tsx'
import { ButtonToScreen, ToScreen } from '../../parts/link.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'
import { SearchBox } from '../../parts/search-box.tsx'
import { useDecks } from './decks.ts'
import { digitsOf, PriceCard, type Question, useRateOf } from './lookup.tsx'

/** A rate in a list. Those that a number begins with come as whole rates, with other names of the same fields. */
interface Row {
  id: string
  prefix: number
  name?: string
  rate_name?: string
  cost?: number
  rate_cost?: number
  surcharge?: number
  rate_surcharge?: number
  carrier?: string
  description?: string
}

const useColumns = (appliedId: string | undefined): readonly Column<Row>[] => {
  const { t } = useTranslation()
  const to = useTo()
  return [
    {
      id: 'prefix',
      title: t('rates.prefix'),
      show: ({ id, prefix, name, rate_name }) => (
        <Group gap="xs" wrap="nowrap">
          <ToScreen to={to(`rates/${id}`)}>+{prefix}</ToScreen>
          <Text size="sm" c="dimmed" hiddenFrom="sm">
            {name ?? rate_name}
          </Text>
          {id === appliedId && (
            <Badge variant="light" color="green">
              {t('rates.applies')}
            </Badge>
          )}
        </Group>
      ),
    },
    { id: 'name', title: t('field.name'), isExtra: true, show: ({ name, rate_name }) => name ?? rate_name },
    {
      id: 'cost',
      title: t('rates.perMinute'),
      isNumber: true,
      show: ({ cost, rate_cost = cost }) => rate_cost !== undefined && showCallPrice(rate_cost),
    },
    {
      id: 'surcharge',
      title: t('rates.surcharge'),
      isExtra: true,
      isNumber: true,
      show: ({ surcharge, rate_surcharge = surcharge }) =>
        rate_surcharge ? showCallPrice(rate_surcharge) : '',
    },
    { id: 'carrier', title: t('rates.carrier'), isExtra: true, show: ({ carrier }) => carrier },
    {
      id: 'description',
      title: t('field.description'),
      isExtra: true,
      show: ({ description }) => description,
    },
  ]
}

/** The rates of a deck: all of them, or those that a number begins with. */
const Rates = ({ question, deck }: { question: Question; deck: string | undefined }) => {
  const { t } = useTranslation()
  const to = useTo()
  const prefix = digitsOf(question.number)
  const applied = useRateOf(question).data?.data['Rate-ID']
  const columns = useColumns(prefix === '' ? undefined : applied)
  const query = { ratedeck_id: deck, ...(prefix === '' ? {} : { prefix }) }
  return (
    <RowList<Row>
      label={t('rates.title')}
      queryKey={['rate', query]}
      list={listOf(listRates, { query })}
      {...(prefix === '' ? { order: { by: 'prefix', descending: false } } : {})}
      columns={columns}
      rowKey={({ id }) => id}
      empty={
        prefix === '' ? (
          <Empty
            Icon={Tags}
            text={t('rates.empty')}
            next={{ to: to('rates/upload'), label: t('rates.upload') }}
          />
        ) : (
          <Empty Icon={SearchX} text={t('rates.noneFound')} />
        )
      }
    />
  )
}

/** What calls cost: the price of a call to any number, and for the operator all rates. */
export const RateList = () => {
  const { t } = useTranslation()
  const { isMaster } = usePlace()
  const to = useTo()
  const { default_ratedeck, ratedecks } = useDecks(isMaster)
  const [number, setNumber] = useState('')
  const [chosen, setChosen] = useState<string | null>(null)
  const [direction, setDirection] = useState<Question['direction']>('outbound')
  const question = { number, direction, deck: chosen ?? undefined }
  return (
    <Screen
      title={t('rates.title')}
      actions={
        isMaster && (
          <>
            <ButtonToScreen variant="default" to={to('rates/upload')}>
              {t('rates.upload')}
            </ButtonToScreen>
            <ButtonToScreen to={to('rates/new')}>{t('rates.new')}</ButtonToScreen>
          </>
        )
      }
    >
      <Group align="end" gap="sm">
        <Box flex="1 1 16rem" maw="24rem">
          <SearchBox
            label={t('rates.number')}
            onSearch={(text) => setNumber(text.replace(/[^\d+]/g, ''))}
            isLabelShown
          />
        </Box>
        {ratedecks.length > 1 && (
          <Select
            label={t('rates.deck')}
            data={ratedecks}
            value={chosen ?? default_ratedeck ?? null}
            onChange={setChosen}
            allowDeselect={false}
          />
        )}
        <Select
          label={t('rates.direction')}
          value={direction}
          onChange={(value) => setDirection(value === 'inbound' ? 'inbound' : 'outbound')}
          data={(['outbound', 'inbound'] as const).map((value) => ({ value, label: t(`rates.${value}`) }))}
          allowDeselect={false}
        />
      </Group>
      {(number !== '' || !isMaster) && <PriceCard question={question} />}
      {isMaster && <Rates question={question} deck={question.deck} />}
    </Screen>
  )
}
