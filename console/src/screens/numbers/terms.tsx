import { getLedgerTotal, getServices } from '@crosspoint/client'
import { Badge, Group, Paper, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showMoney } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { useAskingPeriod } from '../../lib/feed.ts'
import { isObject } from '../../lib/json.ts'
import { ToScreen } from '../../parts/link.tsx'

interface Price {
  name: string
  rate: number
  activation: number
}

const numberIn = (value: unknown) => (typeof value === 'number' ? value : 0)

const pricesIn = (items: object): Price[] =>
  Object.entries(items)
    .filter(([category]) => /^(number_|phone_numbers)/.test(category))
    .flatMap(([category, priced]) =>
      Object.entries(isObject(priced) ? priced : {}).map(([item, plan]) => ({
        name: item === '_all' ? category : `${category}/${item}`,
        rate: isObject(plan) ? numberIn(plan.rate) : 0,
        activation: isObject(plan) ? numberIn(plan.activation_charge) : 0,
      })),
    )
    .filter(({ rate, activation }) => rate > 0 || activation > 0)

/**
 * The charges and the balance of the account that gets the number: a reseller who buys for it is not asked for
 * consent.
 */
export const Terms = () => {
  const { t } = useTranslation()
  const { accountId, name } = usePlace()
  const to = useTo()
  const path = { account_id: accountId }
  const every = useAskingPeriod(30_000)
  const total = useAnswer(
    ['ledger', accountId, 'total'],
    (signal) => getLedgerTotal({ ...api, path, signal }),
    { every },
  )
  const services = useAnswer(['services', accountId], (signal) => getServices({ ...api, path, signal }))
  const balance = total.data?.data.amount
  const prices = services.data ? pricesIn(services.data.data.items) : []
  if (balance === undefined || (prices.length === 0 && balance >= 0)) return null
  return (
    <Paper withBorder p="sm" component="section" aria-label={t('numbers.terms')}>
      <Group gap="sm">
        <Badge color={balance < 0 ? 'red' : 'green'}>
          {balance < 0 ? t('numbers.owing') : t('numbers.balance')}
        </Badge>
        <Text size="sm" fw={600} dir="auto">
          {balance < 0
            ? t('numbers.owes', { name, amount: showMoney(-balance) })
            : t('numbers.has', { name, amount: showMoney(balance) })}
        </Text>
        <ToScreen to={to('money')}>{t('numbers.toMoney')}</ToScreen>
      </Group>
      {prices.map((price) => (
        <Text key={price.name} size="sm" mt={4}>
          {t('numbers.price', {
            name: price.name,
            rate: showMoney(price.rate),
            activation: showMoney(price.activation),
          })}
        </Text>
      ))}
    </Paper>
  )
}
