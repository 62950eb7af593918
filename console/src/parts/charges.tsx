import type { ChargesNeeded, QuotedInvoice, QuotedItem } from '@crosspoint/client'
import { Button, Group, Modal, Stack, Table, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { showMoney, showNumber } from '../lib/amounts.ts'
import { askedCharges } from '../lib/consent.ts'

const ItemRows = ({ title, items }: { title: string; items: readonly QuotedItem[] }) =>
  items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a quote never changes, and two of its lines may be the same
    <Table.Tr key={index}>
      <Table.Td>{item.name ?? [item.category, item.item].filter(Boolean).join(' / ')}</Table.Td>
      <Table.Td>{title}</Table.Td>
      <Table.Td ta="end">{item.quantity === undefined ? '' : showNumber(item.quantity)}</Table.Td>
      <Table.Td ta="end">{item.rate === undefined ? '' : showMoney(item.rate)}</Table.Td>
      <Table.Td ta="end">{item.total === undefined ? '' : showMoney(item.total)}</Table.Td>
    </Table.Tr>
  ))

const taxLine = ({ name, rate, amount }: Readonly<Record<string, unknown>>): QuotedItem => ({
  name: [name, typeof rate === 'number' ? `${showNumber(rate)} %` : ''].join(' '),
  ...(typeof amount === 'number' ? { total: amount } : {}),
})

/** The monthly amount including added taxes. */
const monthlyOf = (invoices: readonly QuotedInvoice[]) =>
  invoices.reduce((sum, { summary }) => sum + (summary.total ?? summary.recurring), 0)

/** One bookkeeper's part of what something would cost. */
export const QuoteTable = ({ invoice }: { invoice: QuotedInvoice }) => {
  const { t } = useTranslation()
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section aria-label={t('charges.title')} tabIndex={0} style={{ overflowX: 'auto' }}>
      <Table aria-label={t('charges.title')}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('charges.item')}</Table.Th>
            <Table.Th>{t('charges.howOften')}</Table.Th>
            <Table.Th ta="end">{t('charges.quantity')}</Table.Th>
            <Table.Th ta="end">{t('charges.rate')}</Table.Th>
            <Table.Th ta="end">{t('charges.total')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          <ItemRows title={t('charges.activation')} items={invoice.activation_charges} />
          <ItemRows title={t('charges.proration')} items={invoice.prorations} />
          <ItemRows title={t('charges.recurring')} items={invoice.items} />
          <ItemRows title={t('charges.tax')} items={invoice.taxes.map(taxLine)} />
        </Table.Tbody>
      </Table>
    </section>
  )
}

/** Mounted once: asks for consent when a request causes charges. */
export const ChargesDialog = () => {
  const { t } = useTranslation()
  const found = askedCharges.use()
  const [shown, setShown] = useState<ChargesNeeded>()
  if (found && found.quote !== shown) setShown(found.quote)
  const answer = (isAgreed: boolean) => {
    found?.resolve(isAgreed)
    askedCharges.set(undefined)
  }
  return (
    <Modal
      opened={found !== undefined}
      onClose={() => answer(false)}
      size="lg"
      title={t('charges.title')}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      {shown && (
        <Stack>
          <Text>{t('charges.text')}</Text>
          {shown.invoices.map((invoice, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a quote never changes
            <QuoteTable key={index} invoice={invoice} />
          ))}
          <Group justify="space-between">
            <Title order={2} size="h5">
              {t('charges.today')}: {showMoney(shown.today)}
            </Title>
            <Text>
              {t('charges.recurring')}: {showMoney(monthlyOf(shown.invoices))}
            </Text>
          </Group>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => answer(false)} data-autofocus>
              {t('cancel')}
            </Button>
            <Button onClick={() => answer(true)}>{t('charges.accept')}</Button>
          </Group>
        </Stack>
      )}
    </Modal>
  )
}
