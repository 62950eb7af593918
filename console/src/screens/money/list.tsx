import {
  getAccount,
  getLedgerSums,
  getLedgerTotal,
  getServiceSummary,
  getServices,
  replaceServiceStatus,
  updateAccount,
} from '@crosspoint/client'
import { Badge, Button, Paper, SimpleGrid, Stack, Table, Text, Title } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { numberIn, showMoney, showNumber } from '../../lib/amounts.ts'
import { useAnswer, useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { useAskingPeriod } from '../../lib/feed.ts'
import { gregorianOf, showDay, showTime } from '../../lib/times.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { ToScreen } from '../../parts/link.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { LineForm, Titled } from '../../parts/titled.tsx'
import { Amount } from './amount.tsx'
import { AmountField } from './amount-field.tsx'
import { BookByHand } from './booking.tsx'
import { useSells } from './rights.ts'
import { TopUp } from './topup.tsx'
import { bookkeeperName, numberAt, partAt, textAt } from './values.ts'

const Card = ({ title, children }: { title: string; children: ReactNode }) => (
  <Paper withBorder p="md" component="section" aria-label={title}>
    <Text size="sm" c="dimmed">
      {title}
    </Text>
    {children}
  </Paper>
)

const Balance = () => {
  const { t } = useTranslation()
  const { accountId, timezone } = usePlace()
  const every = useAskingPeriod(15_000)
  const found = useAnswer(
    ['ledger', accountId, 'total'],
    (signal) => getLedgerTotal({ ...api, path: { account_id: accountId }, signal }),
    { every },
  )
  const amount = found.data?.data.amount
  const asOf = gregorianOf(new Date(found.dataUpdatedAt))
  return (
    <Card title={t('money.balance')}>
      {found.error ? <FailureNote error={found.error} again={found.refetch} /> : null}
      {amount !== undefined && (
        <>
          <Text size="xl" fw={700} role="status">
            {showMoney(amount)}
          </Text>
          {amount < 0 && <Badge color="red">{t('money.owing')}</Badge>}
          <Text size="xs" c="dimmed">
            {t('money.asOf', { time: showTime(asOf, timezone) })}
          </Text>
        </>
      )}
    </Card>
  )
}

const Monthly = () => {
  const { t } = useTranslation()
  const { accountId, timezone } = usePlace()
  const to = useTo()
  const found = useAnswer(['services', accountId, 'summary'], (signal) =>
    getServiceSummary({ ...api, path: { account_id: accountId }, signal }),
  )
  const invoices = found.data?.data.invoices ?? []
  const sum = invoices.reduce((all, { summary }) => all + (summary.total ?? summary.recurring), 0)
  const next = numberAt(found.data?.data.billing_cycle, 'next')
  return (
    <Card title={t('charges.recurring')}>
      {found.error ? <FailureNote error={found.error} again={found.refetch} /> : null}
      {found.data && (
        <>
          <Text size="xl" fw={700}>
            {showMoney(sum)}
          </Text>
          {next !== undefined && (
            <Text size="xs" c="dimmed">
              {t('money.nextBillOn', { day: showDay(next, timezone) })}
            </Text>
          )}
          <ToScreen to={to('money/plans')}>{t('money.why.title')}</ToScreen>
        </>
      )}
    </Card>
  )
}

/** The operator can set the payment status manually. */
const SetStanding = ({ isGood }: { isGood: boolean }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const setting = useChange({
    touches: ['services'],
    run: () => {
      const data = { in_good_standing: !isGood, ...(isGood ? { reason: 'operator' } : {}) }
      return replaceServiceStatus({ ...api, path: { account_id: accountId }, body: { data } })
    },
    done: () => tellDone(t('saved')),
  })
  return (
    <Button
      size="compact-xs"
      variant="default"
      loading={setting.isPending}
      onClick={() => setting.mutate(undefined)}
    >
      {t(isGood ? 'money.setDelinquent' : 'money.setGood')}
    </Button>
  )
}

const Standing = () => {
  const { t } = useTranslation()
  const { accountId, actsForMaster } = usePlace()
  const found = useAnswer(['services', accountId], (signal) =>
    getServices({ ...api, path: { account_id: accountId }, signal }),
  )
  const services = found.data?.data
  return (
    <Card title={t('money.standing')}>
      {found.error ? <FailureNote error={found.error} again={found.refetch} /> : null}
      {services && (
        <Stack gap={4} align="flex-start">
          <Badge size="lg" color={services.in_good_standing ? 'green' : 'red'}>
            {t(services.in_good_standing ? 'money.good' : 'money.delinquent')}
          </Badge>
          {services.reason && <Text size="sm">{services.reason}</Text>}
          <Text size="xs" c="dimmed">
            {t('money.booksOf', { type: bookkeeperName(services.bookkeeper.type) })}
            {services.dirty && ` · ${t('money.dirty')}`}
          </Text>
          {actsForMaster && <SetStanding isGood={services.in_good_standing} />}
        </Stack>
      )}
    </Card>
  )
}

/** What each ledger came to in the last month. */
const Sums = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const every = useAskingPeriod(30_000)
  const found = useAnswer(
    ['ledger', accountId, 'sums'],
    (signal) => getLedgerSums({ ...api, path: { account_id: accountId }, signal }),
    { every },
  )
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const sums = Object.entries(found.data.data)
  return (
    <Stack gap="xs" component="section" aria-label={t('money.sums')}>
      <Title order={2} size="h4">
        {t('money.sums')}
      </Title>
      {sums.length === 0 ? (
        <Text>{t('money.noSums')}</Text>
      ) : (
        <Table aria-label={t('money.sums')}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('money.ledger')}</Table.Th>
              <Table.Th visibleFrom="sm">{t('money.usage')}</Table.Th>
              <Table.Th ta="end">{t('money.amount')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {sums.map(([source, sum]) => {
              const usage = partAt(sum, 'usage')
              return (
                <Table.Tr key={source}>
                  <Table.Td>
                    <ToScreen to={to(`money/ledgers/${encodeURIComponent(source)}`)}>
                      {t(`money.source.${source}`, { defaultValue: source })}
                    </ToScreen>
                  </Table.Td>
                  <Table.Td visibleFrom="sm">
                    {showNumber(numberAt(usage, 'quantity') ?? 0)} {textAt(usage, 'unit')}
                  </Table.Td>
                  <Table.Td ta="end">
                    <Amount amount={numberAt(sum, 'amount') ?? 0} />
                  </Table.Td>
                </Table.Tr>
              )
            })}
          </Table.Tbody>
        </Table>
      )}
    </Stack>
  )
}

interface Rule {
  amount: number | string
  threshold: number | string
}

const AutomaticForm = ({ initial }: { initial: Rule }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const [rule, setRule] = useState<Rule>(initial)
  const amount = numberIn(rule.amount)
  const threshold = numberIn(rule.threshold)
  const isSet = amount !== undefined && threshold !== undefined
  const isOff = rule.amount === '' && rule.threshold === ''
  const saving = useChange({
    touches: ['account'],
    run: () => {
      const topup = isSet ? { amount, threshold } : null
      return updateAccount({ ...api, path: { account_id: accountId }, body: { data: { topup } } })
    },
    done: () => tellDone(t('saved')),
  })
  return (
    <LineForm onSubmit={() => saving.mutate(undefined)}>
      <AmountField
        label={t('money.automatic.threshold')}
        min={0}
        value={rule.threshold}
        onChange={(threshold) => setRule({ ...rule, threshold })}
        w="12rem"
      />
      <AmountField
        label={t('money.automatic.amount')}
        min={0}
        value={rule.amount}
        onChange={(amount) => setRule({ ...rule, amount })}
        w="12rem"
      />
      <Button type="submit" variant="default" disabled={!isSet && !isOff} loading={saving.isPending}>
        {t('save')}
      </Button>
    </LineForm>
  )
}

/** Auto top-up. */
const Automatic = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const found = useAnswer(['account', accountId], (signal) =>
    getAccount({ ...api, path: { account_id: accountId }, signal }),
  )
  if (!found.data) return null
  const topup = partAt(found.data.data, 'topup')
  const initial = { amount: numberAt(topup, 'amount') ?? '', threshold: numberAt(topup, 'threshold') ?? '' }
  return (
    <Titled title={t('money.automatic.title')} text={t('money.automatic.text')}>
      <AutomaticForm key={`${initial.amount} ${initial.threshold}`} initial={initial} />
    </Titled>
  )
}

/** Balance, monthly cost and top-up of an account. */
export const MoneyOverview = () => {
  const { t } = useTranslation()
  const sells = useSells()
  return (
    <Screen title={t('money.part.overview')}>
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <Balance />
        <Monthly />
        <Standing />
      </SimpleGrid>
      <TopUp />
      {sells && <BookByHand />}
      <Automatic />
      <Sums />
    </Screen>
  )
}
