import { CrosspointError, createRefund, type TransactionsAnswer } from '@crosspoint/client'
import { Alert, Button, Group, Modal, NumberInput, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { moneySigns, numberIn, showMoney } from '../../lib/amounts.ts'
import { useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { type Once, useOnce } from '../../lib/once.ts'
import { problemsOf } from '../../lib/problems.ts'
import { tellDone } from '../../lib/toasts.tsx'

/** The part of a sale that is not refunded yet: amounts have at most four decimals. */
export const leftOf = ({ amount, refunded = 0 }: TransactionsAnswer) =>
  Math.round((amount - refunded) * 10_000) / 10_000

interface Wish {
  amount: number
  description: string
}

/** Where it did not work: what is wrong with the amount, or what the bookkeeper said. */
const useRefusal = () => {
  const { t } = useTranslation()
  const [refusal, setRefusal] = useState<{ amount?: string; told?: string }>({})
  return {
    ...refusal,
    forget: () => setRefusal({}),
    take: (error: unknown) => {
      const { amount } = problemsOf(error)
      if (amount !== undefined) setRefusal({ amount })
      else if (error instanceof CrosspointError && error.status === 402)
        setRefusal({ told: t('money.refund.declined', { message: error.message }) })
      else return false
      return true
    },
  }
}

interface RefundDialogProps {
  sale: TransactionsAnswer
  once: Once
  onClose: () => void
}

const RefundDialog = ({ sale, once, onClose }: RefundDialogProps) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const left = leftOf(sale)
  const [amount, setAmount] = useState<number | string>(left)
  const [description, setDescription] = useState('')
  const refusal = useRefusal()
  const refunding = useChange({
    touches: ['transaction', 'ledger', 'services', 'invoice'],
    run: ({ amount, description }: Wish) => {
      const data = { amount, transaction_id: sale.id, ...(description === '' ? {} : { description }) }
      const given = { ...api, path: { account_id: accountId }, body: { data } }
      return once(data, (headers) => createRefund({ ...given, headers }))
    },
    done: ({ data }) => {
      tellDone(t(data.status === 'pending' ? 'money.refund.underWay' : 'money.refund.done'))
      onClose()
    },
    failed: refusal.take,
  })
  const dollars = numberIn(amount)
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('money.refund.title')}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          refusal.forget()
          if (dollars !== undefined) refunding.mutate({ amount: dollars, description })
        }}
      >
        <Stack>
          <Text>{t('money.refund.text')}</Text>
          <NumberInput
            label={t('money.amount')}
            description={t('money.refund.left', { amount: showMoney(left, sale.currency) })}
            allowNegative={false}
            decimalScale={4}
            hideControls
            {...moneySigns(sale.currency)}
            value={amount}
            onChange={setAmount}
            error={refusal.amount}
          />
          <TextInput
            label={t('money.description')}
            maxLength={1024}
            dir="auto"
            value={description}
            onChange={({ currentTarget }) => setDescription(currentTarget.value)}
          />
          {refusal.told && (
            <Alert color="red" role="alert">
              {refusal.told}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose} data-autofocus>
              {t('cancel')}
            </Button>
            <Button type="submit" color="red" loading={refunding.isPending} disabled={dollars === undefined}>
              {dollars === undefined
                ? t('money.refund.do')
                : t('money.refund.doAmount', { amount: showMoney(dollars, sale.currency) })}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

/** Gives money of a sale back, wholly or in part, after a question. */
export const Refund = ({ sale }: { sale: TransactionsAnswer }) => {
  const { t } = useTranslation()
  const [opened, { open, close }] = useDisclosure(false)
  // Outlives the dialog: it may be closed and opened again between two tries.
  const once = useOnce()
  return (
    <>
      <Button variant="default" onClick={open}>
        {t('money.refund.do')}
      </Button>
      {opened && <RefundDialog sale={sale} once={once} onClose={close} />}
    </>
  )
}
