import { creditLedger, debitLedger } from '@crosspoint/client'
import { Button, Select, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { numberIn } from '../../lib/amounts.ts'
import { useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { useOnce } from '../../lib/once.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { LineForm, Titled } from '../../parts/titled.tsx'
import { AmountField } from './amount-field.tsx'

const directions = ['credit', 'debit'] as const
type Direction = (typeof directions)[number]

interface Booking {
  direction: Direction
  amount: number
  reference: string
  description: string
}

const usePosting = (onDone: () => void) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const once = useOnce()
  return useChange({
    touches: ['ledger', 'services', 'invoice'],
    run: ({ direction, amount, reference, description }: Booking) => {
      const data = {
        amount,
        source: { service: 'payments', id: reference },
        usage: { type: direction, quantity: 1, unit: 'payment' },
        ...(description === '' ? {} : { description }),
      }
      const given = { ...api, path: { account_id: accountId }, body: { data } }
      return once({ accountId, direction, data }, (headers) =>
        direction === 'credit' ? creditLedger({ ...given, headers }) : debitLedger({ ...given, headers }),
      )
    },
    done: () => {
      tellDone(t('money.booked'))
      onDone()
    },
  })
}

/** What a reseller books by hand: a transfer that came, a correction. */
export const BookByHand = () => {
  const { t } = useTranslation()
  const [direction, setDirection] = useState<Direction>('credit')
  const [amount, setAmount] = useState<number | string>('')
  const [reference, setReference] = useState('')
  const [description, setDescription] = useState('')
  const posting = usePosting(() => {
    setAmount('')
    setReference('')
    setDescription('')
  })
  const book = () => {
    const dollars = numberIn(amount)
    if (dollars !== undefined && reference !== '')
      posting.mutate({ direction, amount: dollars, reference, description })
  }
  return (
    <Titled title={t('money.bookTitle')} text={t('money.bookText')}>
      <LineForm onSubmit={book}>
        <Select
          label={t('money.direction')}
          data={directions.map((value) => ({ value, label: t(`money.directions.${value}`) }))}
          value={direction}
          onChange={(value) => setDirection(directions.find((one) => one === value) ?? 'credit')}
          allowDeselect={false}
          w="9rem"
        />
        <AmountField label={t('money.amount')} min={0} value={amount} onChange={setAmount} />
        <TextInput
          label={t('money.reference')}
          placeholder={t('money.referenceSample')}
          maxLength={256}
          value={reference}
          onChange={({ currentTarget }) => setReference(currentTarget.value)}
        />
        <TextInput
          label={t('money.description')}
          maxLength={1024}
          dir="auto"
          value={description}
          onChange={({ currentTarget }) => setDescription(currentTarget.value)}
        />
        <Button
          type="submit"
          variant="default"
          loading={posting.isPending}
          disabled={numberIn(amount) === undefined || reference === ''}
        >
          {t('money.book')}
        </Button>
      </LineForm>
    </Titled>
  )
}
