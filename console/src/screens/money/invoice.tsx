import {
  createInvoiceCreditNote,
  getInvoice,
  type InvoicesAnswer,
  payInvoice,
  voidInvoice,
} from '@crosspoint/client'
import {
  Button,
  Group,
  Modal,
  NumberInput,
  Stack,
  Table,
  Text,
  TextInput,
  Timeline,
  Title,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { usePlace } from '../../frame/place.tsx'
import { moneySigns, numberIn, showMoney, showNumber } from '../../lib/amounts.ts'
import { useAnswer, useChange } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { showDay, showTime } from '../../lib/times.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { HistoryTab } from '../../parts/history-tab.tsx'
import { SaveButton } from '../../parts/save-button.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { Amount } from './amount.tsx'
import { InvoiceStatus } from './invoice-status.tsx'
import { useSells } from './rights.ts'
import { Unfold } from './unfold.tsx'
import { bookkeeperName, textAt } from './values.ts'
import { sayTax } from './why.ts'
import { Wide } from './wide.tsx'

type Invoice = InvoicesAnswer

const emptyStream = () => new Blob([]).stream()

const bytesOf = async (path: string, accept: string, signal: AbortSignal) =>
  (await crosspoint.open({ path, accept, signal })).body ?? emptyStream()

const touched = ['invoice', 'ledger', 'transaction', 'services'] as const

const PayOrVoid = ({ invoice }: { invoice: Invoice }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const sells = useSells()
  const [asked, setAsked] = useState<'pay' | 'void'>()
  const close = () => setAsked(undefined)
  const path = { account_id: accountId, invoice_id: invoice.id }
  const paying = useChange({
    touches: touched,
    run: () => payInvoice({ ...api, path }),
    done: ({ data }) => {
      close()
      tellDone(t(data.status === 'paid' ? 'money.invoice.wasPaid' : 'money.invoice.underWay'))
    },
  })
  const voiding = useChange({
    touches: touched,
    run: () => voidInvoice({ ...api, path }),
    done: () => {
      close()
      tellDone(t('money.invoice.wasVoided'))
    },
  })
  const mayPay = invoice.status === 'open' || invoice.status === 'uncollectible'
  return (
    <>
      {mayPay && <Button onClick={() => setAsked('pay')}>{t('money.invoice.pay')}</Button>}
      {sells && invoice.status === 'open' && (
        <Button variant="default" onClick={() => setAsked('void')}>
          {t('money.invoice.voidIt')}
        </Button>
      )}
      <Confirm
        opened={asked === 'pay'}
        title={t('money.invoice.payTitle')}
        text={t('money.invoice.payText', { amount: showMoney(invoice.amount_due, invoice.currency) })}
        action={t('money.invoice.pay')}
        isDangerous={false}
        busy={paying.isPending}
        onConfirm={() => paying.mutate(undefined)}
        onClose={close}
      />
      <Confirm
        opened={asked === 'void'}
        title={t('money.invoice.voidTitle')}
        text={t('money.invoice.voidText')}
        action={t('money.invoice.voidIt')}
        busy={voiding.isPending}
        onConfirm={() => voiding.mutate(undefined)}
        onClose={close}
      />
    </>
  )
}

/** Gives back part of an invoice, or all that is left of it. */
const GiveBack = ({ invoice }: { invoice: Invoice }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const [opened, { open, close }] = useDisclosure(false)
  const [amount, setAmount] = useState<number | string>('')
  const [reason, setReason] = useState('')
  const dollars = numberIn(amount)
  // Only a field that is left empty means everything.
  const isUnclear = amount !== '' && dollars === undefined
  const giving = useChange({
    touches: touched,
    run: () =>
      createInvoiceCreditNote({
        ...api,
        path: { account_id: accountId, invoice_id: invoice.id },
        body: {
          data: {
            ...(dollars === undefined ? {} : { amount: dollars }),
            ...(reason === '' ? {} : { reason }),
          },
        },
      }),
    done: () => {
      close()
      setAmount('')
      setReason('')
      tellDone(t('money.invoice.wasCredited'))
    },
  })
  return (
    <>
      <Button variant="default" onClick={open}>
        {t('money.invoice.credit')}
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        title={t('money.invoice.credit')}
        closeButtonProps={{ 'aria-label': t('close') }}
      >
        <form
          onSubmit={(event) => {
            event.preventDefault()
            if (!isUnclear) giving.mutate(undefined)
          }}
        >
          <Stack>
            <NumberInput
              label={t('money.amount')}
              description={t('money.invoice.creditHelp')}
              {...moneySigns(invoice.currency)}
              decimalScale={4}
              value={amount}
              onChange={setAmount}
              data-autofocus
            />
            <TextInput
              label={t('money.invoice.reason')}
              maxLength={1024}
              dir="auto"
              value={reason}
              onChange={({ currentTarget }) => setReason(currentTarget.value)}
            />
            <Group justify="flex-end">
              <Button variant="default" onClick={close}>
                {t('cancel')}
              </Button>
              <Button type="submit" loading={giving.isPending} disabled={isUnclear}>
                {t('money.invoice.credit')}
              </Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </>
  )
}

const Lines = ({ invoice }: { invoice: Invoice }) => {
  const { t } = useTranslation()
  const { items, currency } = invoice
  return (
    <Wide label={t('money.invoice.lines')}>
      <Table aria-label={t('money.invoice.lines')}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('charges.item')}</Table.Th>
            <Table.Th>{t('money.ledger')}</Table.Th>
            <Table.Th ta="end">{t('charges.quantity')}</Table.Th>
            <Table.Th ta="end">{t('charges.rate')}</Table.Th>
            <Table.Th ta="end">{t('money.invoice.discount')}</Table.Th>
            <Table.Th ta="end">{t('charges.total')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {items.map((line, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: what was issued never changes
            <Table.Tr key={index}>
              <Table.Td dir="auto">{line.description}</Table.Td>
              <Table.Td>{t(`money.source.${line.source}`, { defaultValue: line.source })}</Table.Td>
              <Table.Td ta="end">{line.quantity === undefined ? '' : showNumber(line.quantity)}</Table.Td>
              <Table.Td ta="end">{line.rate === undefined ? '' : showMoney(line.rate, currency)}</Table.Td>
              <Table.Td ta="end">
                {line.discount === undefined ? '' : showMoney(-line.discount, currency)}
              </Table.Td>
              <Table.Td ta="end">
                <Amount amount={line.amount} currency={currency} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Wide>
  )
}

const Totals = ({ invoice }: { invoice: Invoice }) => {
  const { t } = useTranslation()
  const { total, amount_due, credited, currency, taxes } = invoice
  return (
    <Stack gap={2} align="flex-end">
      {taxes.map((tax) => (
        <Text key={sayTax(tax)} size="sm">
          {sayTax(tax, currency)}
        </Text>
      ))}
      <Text fw={600}>
        {t('money.invoice.total')}: <Amount amount={total} currency={currency} />
      </Text>
      {credited !== undefined && credited > 0 && (
        <Text size="sm">{t('money.invoice.credited', { amount: showMoney(credited, currency) })}</Text>
      )}
      <Text size="sm">{t('money.invoice.amountDue', { amount: showMoney(amount_due, currency) })}</Text>
    </Stack>
  )
}

const Notes = ({ invoice }: { invoice: Invoice }) => {
  const { t } = useTranslation()
  const { accountId, timezone } = usePlace()
  const notes = invoice.credit_notes ?? []
  if (notes.length === 0) return null
  return (
    <Stack gap="xs" component="section" aria-label={t('money.invoice.creditNotes')}>
      <Title order={2} size="h4">
        {t('money.invoice.creditNotes')}
      </Title>
      {notes.map(({ id, number, issued, total, currency, reason }) => (
        <Group key={id} gap="sm">
          <Text size="sm" dir="auto">
            {number} · {showDay(issued, timezone)} · {showMoney(total, currency)} {reason && `· ${reason}`}
          </Text>
          <SaveButton
            size="compact-sm"
            name={`credit-note-${number}.pdf`}
            open={(signal) =>
              bytesOf(
                `/v2/accounts/${accountId}/invoices/${invoice.id}/credit_notes/${id}`,
                'application/pdf',
                signal,
              )
            }
          >
            PDF
          </SaveButton>
        </Group>
      ))}
    </Stack>
  )
}

const Events = ({ invoice }: { invoice: Invoice }) => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const events = invoice.events ?? []
  if (events.length === 0) return null
  return (
    <Timeline bulletSize={14}>
      {events.map(({ at, event }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: what happened stays where it is
        <Timeline.Item key={index} title={t(`money.invoice.event.${event}`, { defaultValue: event })}>
          <Text size="xs" c="dimmed">
            {showTime(at, timezone)}
          </Text>
        </Timeline.Item>
      ))}
    </Timeline>
  )
}

/** One issued invoice and its history. */
export const InvoiceRecord = () => {
  const { t } = useTranslation()
  const { accountId, timezone } = usePlace()
  const sells = useSells()
  const { invoiceId = '' } = useParams()
  const path = { account_id: accountId, invoice_id: invoiceId }
  const found = useAnswer(['invoice', accountId, invoiceId], (signal) => getInvoice({ ...api, path, signal }))
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const invoice = found.data.data
  const apiPath = `/v2/accounts/${accountId}/invoices/${invoiceId}`
  const name = invoice.number ?? t('money.invoice.draft')
  const file = `invoice-${name.replaceAll('/', '-')}`
  const isIssued = invoice.status !== 'draft'
  return (
    <Screen
      title={isIssued ? t('money.invoice.title', { number: name }) : name}
      actions={
        <>
          <SaveButton name={`${file}.pdf`} open={(signal) => bytesOf(apiPath, 'application/pdf', signal)}>
            PDF
          </SaveButton>
          <SaveButton name={`${file}.csv`} open={(signal) => bytesOf(apiPath, 'text/csv', signal)}>
            CSV
          </SaveButton>
          {sells && isIssued && invoice.status !== 'void' && <GiveBack invoice={invoice} />}
          <PayOrVoid invoice={invoice} />
        </>
      }
    >
      <Group gap="sm">
        <InvoiceStatus status={invoice.status} />
        <Text size="sm" c="dimmed">
          {showDay(invoice.period.from, 'UTC')} – {showDay(invoice.period.to, 'UTC')} ·{' '}
          {t('money.invoice.dueOn', { day: showDay(invoice.due, timezone) })} ·{' '}
          {t('money.booksOf', { type: bookkeeperName(textAt(invoice.bookkeeper, 'type')) })}
        </Text>
      </Group>
      <Lines invoice={invoice} />
      <Totals invoice={invoice} />
      <Notes invoice={invoice} />
      <Events invoice={invoice} />
      {isIssued && (
        <Unfold label={t('record.history')}>
          <HistoryTab apiPath={apiPath} />
        </Unfold>
      )}
    </Screen>
  )
}
