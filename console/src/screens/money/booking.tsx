import { creditLedger, debitLedger } from '@crosspoint/client'
import { Button, Group, NumberInput, Select, Stack, Text, TextInput, Title } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { numberIn } from './values.ts'

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
      return direction === 'credit' ? creditLedger(given) : debitLedger(given)
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
  const book = (event: FormEvent) => {
    event.preventDefault()
    const dollars = numberIn(amount)
    if (dollars !== undefined && reference !== '')
      posting.mutate({ direction, amount: dollars, reference, description })
  }
  return (
    <Stack gap="xs" component="section" aria-label={t('money.bookTitle')}>
      <Title order={2} size="h4">
        {t('money.bookTitle')}
      </Title>
      <Text size="sm" c="dimmed">
        {t('money.bookText')}
      </Text>
      <form onSubmit={book}>
        <Group align="end" gap="sm">
          <Select
            label={t('money.direction')}
            data={directions.map((value) => ({ value, label: t(`money.directions.${value}`) }))}
            value={direction}
            onChange={(value) => setDirection(directions.find((one) => one === value) ?? 'credit')}
            allowDeselect={false}
            w="9rem"
          />
          <NumberInput
            label={t('money.amount')}
            prefix="$"
            min={0}
            decimalScale={4}
            hideControls
            value={amount}
            onChange={setAmount}
            w="9rem"
          />
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
        </Group>
      </form>
    </Stack>
  )
}
