import { CrosspointError, type RateOfANumber, rateNumber, rateNumberOfSystem } from '@crosspoint/client'
import { Card, Group, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showCallPrice, showNumber } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { ToScreen } from '../../parts/link.tsx'

const unitsOfDollar = 10_000
const fewestDigits = 8

export const digitsOf = (text: string) => text.replace(/\D/g, '')

export interface Question {
  number: string
  direction: 'inbound' | 'outbound'
  /** Only the operator may name one. */
  deck: string | undefined
}

/** The rate of a complete number: of the deck that is named, else of the account. */
export const useRateOf = ({ number, direction, deck }: Question) => {
  const { accountId, isMaster } = usePlace()
  return useAnswer(
    ['rate', 'of', accountId, number, direction, deck ?? ''],
    (signal) =>
      isMaster
        ? rateNumberOfSystem({ ...api, path: { number }, query: { direction, ratedeck_id: deck }, signal })
        : rateNumber({ ...api, path: { account_id: accountId, number }, query: { direction }, signal }),
    { enabled: digitsOf(number).length >= fewestDigits },
  )
}

const Fact = ({ title, value }: { title: string; value: string }) => (
  <div>
    <Text size="xs" c="dimmed">
      {title}
    </Text>
    <Text size="sm">{value}</Text>
  </div>
)

const Found = ({ rate }: { rate: RateOfANumber }) => {
  const { t } = useTranslation()
  const { isMaster } = usePlace()
  const to = useTo()
  const name = rate['Rate-Name'] ?? `+${rate.Prefix}`
  const surcharge = Number(rate.Surcharge) / unitsOfDollar
  const seconds = (value: string) =>
    t('rates.seconds', { count: Number(value), shown: showNumber(Number(value)) })
  return (
    <Group justify="space-between" align="start" gap="lg">
      <Stack gap={0}>
        <Text size="sm" c="dimmed">
          {t('rates.callTo', { number: rate['E164-Number'] })}
        </Text>
        <Text fz="h2" fw={600} lh={1.3}>
          {t('rates.eachMinute', { price: showCallPrice(Number(rate.Rate) / unitsOfDollar) })}
        </Text>
      </Stack>
      <Group gap="xl" align="start">
        <div>
          <Text size="xs" c="dimmed">
            {t('rates.rate')}
          </Text>
          <Text size="sm">
            {isMaster ? <ToScreen to={to(`rates/${rate['Rate-ID']}`)}>{name}</ToScreen> : name}
          </Text>
        </div>
        <Fact title={t('rates.prefix')} value={`+${rate.Prefix}`} />
        {surcharge > 0 && <Fact title={t('rates.surcharge')} value={showCallPrice(surcharge)} />}
        <Fact title={t('rates.minimum')} value={seconds(rate['Rate-Minimum'])} />
        <Fact title={t('rates.increment')} value={seconds(rate['Rate-Increment'])} />
        {isMaster && <Fact title={t('rates.deck')} value={rate['Ratedeck-ID']} />}
      </Group>
    </Group>
  )
}

/** The price of a call to the number that is typed. */
export const PriceCard = ({ question }: { question: Question }) => {
  const { t } = useTranslation()
  const found = useRateOf(question)
  const isShort = digitsOf(question.number).length < fewestDigits
  const { error } = found
  const isIncomplete = error instanceof CrosspointError && error.status === 400
  if (error && !isIncomplete && !(error instanceof CrosspointError && error.status === 404))
    return <FailureNote error={error} again={found.refetch} />
  return (
    <Card withBorder padding="md" role="status" aria-label={t('rates.result')}>
      {isShort || isIncomplete ? (
        <Text size="sm" c="dimmed">
          {t('rates.typeNumber')}
        </Text>
      ) : error ? (
        <Text size="sm">{t('rates.noRate', { number: question.number })}</Text>
      ) : found.data ? (
        <Found rate={found.data.data} />
      ) : (
        <Text size="sm" c="dimmed">
          {t('loading')}
        </Text>
      )}
    </Card>
  )
}
