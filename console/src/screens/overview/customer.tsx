import { getCdrStats } from '@crosspoint/client'
import { SimpleGrid } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { callsEvery, everyDay, lastDays } from './call-days.ts'
import {
  AlertsCard,
  BalanceCard,
  CallChartCard,
  CallsTodayCard,
  NumbersCard,
  PhonesCard,
  TasksCard,
} from './cards.tsx'

const useCallDays = () => {
  const { accountId, timezone } = usePlace()
  const { from, utcOffset } = lastDays(new Date(), timezone)
  return useAnswer(
    ['call_count', accountId, from],
    async (signal) => {
      const query = { created_from: String(from), interval: 'day', utc_offset: String(utcOffset) }
      const { data } = await getCdrStats({ ...api, path: { account_id: accountId }, query, signal })
      return everyDay(data, from)
    },
    { every: callsEvery },
  )
}

/** The activity of one company. */
export const CustomerFigures = () => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const found = useCallDays()
  return (
    <>
      <SimpleGrid cols={{ base: 2, md: 3 }} spacing={{ base: 'xs', sm: 'md' }}>
        <CallsTodayCard title={t('overview.callsToday')} screen="calls" found={found} />
        <PhonesCard />
        <NumbersCard />
        <BalanceCard />
        <AlertsCard />
        <TasksCard />
      </SimpleGrid>
      <CallChartCard
        title={t('overview.callsOver30Days')}
        screen="calls/charts"
        found={found}
        timezone={timezone}
      />
    </>
  )
}
