import { CrosspointError, topUp } from '@crosspoint/client'
import { Alert, Button, Text } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { numberIn, showMoney } from '../../lib/amounts.ts'
import { useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { useOnce } from '../../lib/once.ts'
import { ToScreen } from '../../parts/link.tsx'
import { LineForm, Titled } from '../../parts/titled.tsx'
import { AmountField } from './amount-field.tsx'
import { textAt } from './values.ts'

interface Told {
  color: 'green' | 'orange' | 'red'
  text: string
  /** Whether another card would help. */
  isOfCard?: boolean
}

/** The result of a top-up as text: credited, charged, pending, refused. */
const useTold = () => {
  const { t } = useTranslation()
  const [told, setTold] = useState<Told>()
  return {
    told,
    hasMoved: (data: { transaction?: object; ledger?: object }, amount: number) => {
      const values = { amount: showMoney(amount) }
      const status = textAt(data.transaction, 'status')
      if (status === 'pending') return setTold({ color: 'orange', text: t('money.topup.underWay', values) })
      const key = status === undefined ? 'money.topup.credited' : 'money.topup.charged'
      setTold({ color: 'green', text: t(key, values) })
    },
    hasFailed: (error: unknown) => {
      if (!(error instanceof CrosspointError)) return false
      const { kind, status, problems, message, envelope } = error
      const [problem] = problems
      if (problem) setTold({ color: 'red', text: problem.message })
      else if (textAt(envelope?.data, 'reason') === 'topup_without_gateway')
        setTold({ color: 'red', text: t('money.topup.noGateway') })
      else if (/payment.token/.test(kind))
        setTold({ color: 'red', text: t('money.topup.noCard'), isOfCard: true })
      else if (status === 402)
        setTold({ color: 'red', text: t('money.topup.declined', { message }), isOfCard: true })
      else return false
      return true
    },
  }
}

/** A top-up: a charge, or credit of the reseller if no billing provider charges. */
export const TopUp = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const [amount, setAmount] = useState<number | string>('')
  const { told, hasMoved, hasFailed } = useTold()
  const once = useOnce()
  const adding = useChange({
    touches: ['ledger', 'transaction', 'services', 'invoice'],
    run: (dollars: number) => {
      const given = { ...api, path: { account_id: accountId }, body: { data: { amount: dollars } } }
      return once({ accountId, dollars }, (headers) => topUp({ ...given, headers }))
    },
    done: ({ data }, dollars) => {
      hasMoved(data, dollars)
      setAmount('')
    },
    failed: hasFailed,
  })
  const add = () => {
    const dollars = numberIn(amount)
    if (dollars !== undefined) adding.mutate(dollars)
  }
  return (
    <Titled title={t('money.topup.title')} text={t('money.topup.text')}>
      <LineForm onSubmit={add}>
        <AmountField label={t('money.topup.amount')} value={amount} onChange={setAmount} w="12rem" />
        <Button type="submit" loading={adding.isPending} disabled={numberIn(amount) === undefined}>
          {t('money.topup.do')}
        </Button>
      </LineForm>
      {told && (
        <Alert color={told.color} role="status">
          <Text size="sm">{told.text}</Text>
          {told.isOfCard && <ToScreen to={to('money/cards')}>{t('money.topup.toCards')}</ToScreen>}
        </Alert>
      )}
    </Titled>
  )
}
