import { getQuotas, type Quota } from '@crosspoint/client'
import { Card, Progress, SimpleGrid, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { showBytes, showNumber } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { ButtonToScreen } from '../../parts/link.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'

const almostFull = 80
const full = 100

const colorOf = (percent: number) => {
  if (percent >= full) return 'red'
  return percent >= almostFull ? 'orange' : undefined
}

const QuotaCard = ({ quota: { name, used, limit } }: { quota: Quota }) => {
  const { t } = useTranslation()
  const percent = limit === 0 ? full : Math.min(full, (full * used) / limit)
  const show = name === 'file_bytes' ? showBytes : showNumber
  const title = t(`quotas.name.${name}`, { defaultValue: name })
  return (
    <Card component="section" aria-label={title}>
      <Text fw={500}>{title}</Text>
      <Text size="sm" c="dimmed" mb="xs">
        {t('quotas.used', { used: show(used), limit: show(limit) })}
      </Text>
      <Progress value={percent} color={colorOf(percent)} aria-label={title} />
    </Card>
  )
}

/** What the account uses of its quotas. */
export const QuotaScreen = () => {
  const { t } = useTranslation()
  const { accountId, actsForMaster } = usePlace()
  const found = useAnswer(['quota', accountId], (signal) =>
    getQuotas({ ...api, path: { account_id: accountId }, signal }),
  )
  return (
    <Screen
      title={t('quotas.title')}
      actions={
        actsForMaster && (
          <ButtonToScreen
            to={`/a/${crosspoint.session()?.accountId}/system/settings/quotas`}
            variant="default"
          >
            {t('quotas.toSettings')}
          </ButtonToScreen>
        )
      }
    >
      <Text size="sm" c="dimmed">
        {t('quotas.text')}
      </Text>
      {found.error && !found.data ? <FailureNote error={found.error} again={found.refetch} /> : null}
      {!found.data && !found.error && <Loading />}
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
        {found.data?.data.map((quota) => (
          <QuotaCard key={quota.name} quota={quota} />
        ))}
      </SimpleGrid>
    </Screen>
  )
}
