import { getUserCdrStats, listUserDevices, listUserInteractions } from '@crosspoint/client'
import { Grid, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { Phone, PhoneCall } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { Empty } from '../../parts/empty.tsx'
import { ToScreen } from '../../parts/link.tsx'
import { RowList } from '../../parts/row-list.tsx'
import { callFields, useCallColumns } from '../calls/list.tsx'
import { type DeviceRow, Registration, registrationPeriod } from '../devices/columns.tsx'
import { callsEvery, everyDay, lastDays } from './call-days.ts'
import { Figure, FigureCard } from './card.tsx'
import { AlertsCard, CallChartCard, CallsTodayCard } from './cards.tsx'
import { Forwarding } from './forwarding.tsx'

const shownPhones = 20
const shownCalls = 10

type Path = Record<'account_id' | 'user_id', string>

const useOwnCallDays = (path: Path) => {
  const { timezone } = usePlace()
  const { from, utcOffset } = lastDays(new Date(), timezone)
  return useAnswer(
    ['call_count', path, from],
    async (signal) => {
      const query = { created_from: String(from), interval: 'day', utc_offset: String(utcOffset) }
      const { data } = await getUserCdrStats({ ...api, path, query, signal })
      return everyDay(data, from)
    },
    { every: callsEvery },
  )
}

const PhonesCard = ({ path }: { path: Path }) => {
  const { t } = useTranslation()
  const found = useAnswer(
    ['device', path, 'own'],
    async (signal) => {
      const query = { with_status: 'true', page_size: shownPhones }
      const { data } = await listUserDevices({ ...api, path, query, signal })
      return data as readonly DeviceRow[]
    },
    { every: registrationPeriod },
  )
  return (
    <FigureCard title={t('overview.ownPhones')} Icon={Phone} found={found}>
      {(phones) =>
        phones.length === 0 ? (
          <Figure value="0" unit={t('overview.noOwnPhones')} />
        ) : (
          <Stack gap={6}>
            {phones.map(({ id, name, ...state }) => (
              <Group key={id} justify="space-between" gap="xs" fz="sm">
                <ToScreen to={`/a/${path.account_id}/devices/${id}`}>
                  <bdi>{name}</bdi>
                </ToScreen>
                <Registration {...state} />
              </Group>
            ))}
          </Stack>
        )
      }
    </FigureCard>
  )
}

const RecentCalls = ({ path }: { path: Path }) => {
  const { t } = useTranslation()
  const query = { fields: callFields, page_size: shownCalls }
  return (
    <Stack gap="xs" component="section">
      <Group justify="space-between">
        <Title order={2} size="h4">
          {t('overview.recentCalls')}
        </Title>
        <Text size="sm">
          <ToScreen to={`/a/${path.account_id}/calls?user=${path.user_id}`}>
            {t('overview.allOwnCalls')}
          </ToScreen>
        </Text>
      </Group>
      <RowList
        label={t('overview.recentCalls')}
        queryKey={['call_count', path, 'recent']}
        // The first page only: the list of calls shows all.
        read={async (_, signal) => ({
          data: (await listUserInteractions({ ...api, path, query, signal })).data,
        })}
        columns={useCallColumns()}
        rowKey={({ id }) => id}
        every={callsEvery}
        empty={<Empty Icon={PhoneCall} text={t('overview.noOwnCalls')} />}
      />
    </Stack>
  )
}

/** Calls, phones and forwarding of the user. */
export const OwnFigures = ({ userId }: { userId: string }) => {
  const { t } = useTranslation()
  const { accountId, timezone } = usePlace()
  const path = { account_id: accountId, user_id: userId }
  const calls = `calls?user=${userId}`
  const found = useOwnCallDays(path)
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
        <CallsTodayCard title={t('overview.ownCallsToday')} screen={calls} found={found} />
        <PhonesCard path={path} />
        <AlertsCard />
      </SimpleGrid>
      <Grid>
        <Grid.Col span={{ base: 12, md: 4 }}>
          <Forwarding path={path} />
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 8 }}>
          <CallChartCard
            title={t('overview.ownCallsOver30Days')}
            screen={calls}
            found={found}
            timezone={timezone}
          />
        </Grid.Col>
      </Grid>
      <RecentCalls path={path} />
    </>
  )
}
