import {
  getLedgerTotal,
  listAlerts,
  listDevices,
  listPhoneNumbers,
  listTasks,
  listUsers,
} from '@crosspoint/client'
import { Bell, CircleDollarSign, Hash, ListTodo, Phone, PhoneCall } from 'lucide-react'
import { lazy, Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { showMoney, showNumber, showPercent } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { useAskingPeriod } from '../../lib/feed.ts'
import { Empty } from '../../parts/empty.tsx'
import { Loading } from '../../parts/screen.tsx'
import { registrationPeriod } from '../devices/columns.tsx'
import { type CallCount, type CallDay, sumOf } from './call-days.ts'
import { Figure, FigureCard, type Found } from './card.tsx'

const CallChart = lazy(async () => ({ default: (await import('./charts.tsx')).CallChart }))

// The polling interval without live events.
export const othersEvery = 15_000
// One page is read; if there are more, the card shows a plus sign.
const counted = 500
const countedTasks = 50

/** The number of rows, as far as they were read. */
const countOf = ({ data, next_start_key: next }: { data: readonly unknown[]; next_start_key?: string }) =>
  `${showNumber(data.length)}${next === undefined ? '' : '+'}`

const useAnswered = () => {
  const { t } = useTranslation()
  return ({ calls, answered }: CallCount) =>
    t('overview.ofThemAnswered', {
      answered: showNumber(answered),
      ratio: calls === 0 ? '–' : showPercent(answered / calls),
    })
}

interface OfCalls {
  title: string
  screen: string
  found: Found<readonly CallDay[]>
}

export const CallsTodayCard = (props: OfCalls) => {
  const answeredOf = useAnswered()
  return (
    <FigureCard Icon={PhoneCall} {...props}>
      {(days) => {
        const today = sumOf(days.slice(-1))
        return <Figure value={showNumber(today.calls)} unit={answeredOf(today)} />
      }}
    </FigureCard>
  )
}

/** `timezone`: in which the days begin. */
export const CallChartCard = ({ timezone, ...props }: OfCalls & { timezone: string | undefined }) => {
  const { t } = useTranslation()
  const answeredOf = useAnswered()
  return (
    <FigureCard height={290} {...props}>
      {(days) => {
        const sum = sumOf(days)
        if (sum.calls === 0) return <Empty Icon={PhoneCall} text={t('overview.noCalls')} />
        return (
          <>
            <Figure value={showNumber(sum.calls)} unit={answeredOf(sum)} />
            <Suspense fallback={<Loading />}>
              <CallChart days={days} timezone={timezone} />
            </Suspense>
          </>
        )
      }}
    </FigureCard>
  )
}

export const BalanceCard = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const every = useAskingPeriod(othersEvery)
  const found = useAnswer(
    ['ledger', accountId, 'total'],
    (signal) => getLedgerTotal({ ...api, path: { account_id: accountId }, signal }),
    { every },
  )
  return (
    <FigureCard title={t('overview.balance')} Icon={CircleDollarSign} screen="money" found={found}>
      {({ data: { amount } }) => (
        <Figure
          value={showMoney(amount)}
          unit={t(amount < 0 ? 'overview.owed' : 'overview.credit')}
          isBad={amount < 0}
        />
      )}
    </FigureCard>
  )
}

/** Phones and users. Registrations are counted if an edge reports them. */
export const PhonesCard = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const path = { account_id: accountId }
  const found = useAnswer(
    ['device', accountId, 'count'],
    async (signal) => {
      const query = { page_size: counted }
      const [devices, users] = await Promise.all([
        listDevices({ ...api, path, query: { ...query, with_status: 'true' }, signal }),
        listUsers({ ...api, path, query, signal }),
      ])
      return { devices, users }
    },
    { every: registrationPeriod },
  )
  return (
    <FigureCard title={t('overview.phones')} Icon={Phone} screen="devices" found={found}>
      {({ devices, users }) => {
        const registered = devices.data.filter((row) => 'registered' in row && row.registered === true).length
        return (
          <Figure
            value={t('overview.registeredOf', { registered: showNumber(registered), all: countOf(devices) })}
            unit={t('overview.users', { count: users.data.length, number: countOf(users) })}
          />
        )
      }}
    </FigureCard>
  )
}

/** How many numbers are in each state, most first. */
const statesOf = (numbers: Readonly<Record<string, { state?: string }>>) => {
  const counts = new Map<string, number>()
  for (const { state = '' } of Object.values(numbers)) counts.set(state, (counts.get(state) ?? 0) + 1)
  return [...counts].sort(([, one], [, other]) => other - one)
}

export const NumbersCard = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const every = useAskingPeriod(othersEvery)
  const found = useAnswer(
    ['number', accountId, 'states'],
    async (signal) => {
      const query = { page_size: counted }
      const page = await listPhoneNumbers({ ...api, path: { account_id: accountId }, query, signal })
      const numbers = Array.isArray(page.data) ? {} : page.data.numbers
      return { states: statesOf(numbers), isMore: page.next_start_key !== undefined }
    },
    { every },
  )
  return (
    <FigureCard title={t('screens.numbers')} Icon={Hash} screen="numbers" found={found}>
      {({ states, isMore }) => (
        <Figure
          value={`${showNumber(states.reduce((sum, [, count]) => sum + count, 0))}${isMore ? '+' : ''}`}
          unit={states
            .map(([state, count]) =>
              t('overview.inState', {
                count: showNumber(count),
                state: t(`overview.numberState.${state}`, { defaultValue: state }),
              }),
            )
            .join(', ')}
        />
      )}
    </FigureCard>
  )
}

export const AlertsCard = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const every = useAskingPeriod(othersEvery)
  const found = useAnswer(
    ['alert', accountId, 'open'],
    (signal) => listAlerts({ ...api, path: { account_id: accountId }, signal }),
    { every },
  )
  return (
    <FigureCard title={t('overview.alerts')} Icon={Bell} screen="alerts" found={found}>
      {({ data }) => (
        <Figure value={showNumber(data.length)} unit={data[0]?.title ?? t('overview.noAlerts')} />
      )}
    </FigureCard>
  )
}

export const TasksCard = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const every = useAskingPeriod(othersEvery)
  const found = useAnswer(
    ['task', accountId, 'running'],
    (signal) => {
      const query = { page_size: countedTasks, filters: { filter_status: 'executing' } }
      return listTasks({ ...api, path: { account_id: accountId }, query, signal })
    },
    { every },
  )
  return (
    <FigureCard title={t('overview.tasks')} Icon={ListTodo} screen="tasks" found={found}>
      {(page) => <Figure value={countOf(page)} unit={t('overview.runningNow')} />}
    </FigureCard>
  )
}
