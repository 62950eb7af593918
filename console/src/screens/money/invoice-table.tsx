import { Badge, Button, Group, List, Stack, Table, Text, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { ChevronDown, ChevronRight } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { showMoney, showNumber } from '../../lib/amounts.ts'
import { Amount } from './amount.tsx'
import { bookkeeperName, listAt, numberAt, partAt, textAt } from './values.ts'
import { planOf, reasonsOf, sayTax } from './why.ts'
import { Wide } from './wide.tsx'

const nameOf = (line: unknown) =>
  textAt(line, 'name') ?? [textAt(line, 'category'), textAt(line, 'item')].filter(Boolean).join(' / ')

const ItemRows = ({ item, plan }: { item: unknown; plan: unknown }) => {
  const { t } = useTranslation()
  const [opened, { toggle }] = useDisclosure(false)
  const name = nameOf(item)
  return (
    <>
      <Table.Tr>
        <Table.Td dir="auto">{name}</Table.Td>
        <Table.Td ta="end">{showNumber(numberAt(item, 'quantity') ?? 0)}</Table.Td>
        <Table.Td ta="end">{showMoney(numberAt(item, 'rate') ?? 0)}</Table.Td>
        <Table.Td ta="end">
          <Amount amount={numberAt(item, 'total') ?? 0} />
        </Table.Td>
        <Table.Td>
          <Button
            size="compact-xs"
            variant="default"
            aria-expanded={opened}
            aria-label={t('money.why.label', { name })}
            onClick={toggle}
            leftSection={
              opened ? <ChevronDown size={12} aria-hidden /> : <ChevronRight size={12} aria-hidden />
            }
          >
            {t('money.why.short')}
          </Button>
        </Table.Td>
      </Table.Tr>
      {opened && (
        <Table.Tr>
          <Table.Td colSpan={5}>
            <List size="sm">
              {reasonsOf(item, plan).map((reason) => (
                <List.Item key={reason}>{reason}</List.Item>
              ))}
            </List>
          </Table.Td>
        </Table.Tr>
      )}
    </>
  )
}

const onceOf = (line: unknown, t: (key: string, values: Record<string, string>) => string) => {
  const days = numberAt(line, 'days')
  const quantity = showNumber(numberAt(line, 'quantity') ?? numberAt(line, 'billable') ?? 0)
  const rate = showMoney(numberAt(line, 'rate') ?? 0)
  if (days === undefined) return t('money.why.activated', { quantity, rate })
  return t('money.why.prorated', {
    quantity,
    recurring: showMoney(numberAt(line, 'recurring') ?? 0),
    days: showNumber(days),
    all: showNumber(numberAt(line, 'days_in_month') ?? 0),
  })
}

/** Amounts due once: activation fees and prorations. */
const Once = ({ lines }: { lines: readonly unknown[] }) => {
  const { t } = useTranslation()
  if (lines.length === 0) return null
  return (
    <List size="sm">
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines of an answer never change places
        <List.Item key={index}>
          {nameOf(line)}: {onceOf(line, t)} = <Amount amount={numberAt(line, 'total') ?? 0} />
        </List.Item>
      ))}
    </List>
  )
}

const Totals = ({ summary }: { summary: unknown }) => {
  const { t } = useTranslation()
  const total = numberAt(summary, 'total')
  const recurring = numberAt(summary, 'recurring') ?? 0
  const today = numberAt(summary, 'today') ?? 0
  return (
    <Group justify="flex-end" gap="lg">
      {today !== 0 && (
        <Text fw={600}>
          {t('charges.today')}: <Amount amount={today} />
        </Text>
      )}
      {total !== undefined && (
        <Text size="sm">{t('money.withoutTaxes', { amount: showMoney(recurring) })}</Text>
      )}
      <Text fw={600}>
        {t('charges.recurring')}: {showMoney(total ?? recurring)}
      </Text>
    </Group>
  )
}

/** The invoice of one billing provider, line by line, with price details. */
export const InvoiceTable = ({ invoice }: { invoice: object }) => {
  const { t } = useTranslation()
  const bookkeeper = partAt(invoice, 'bookkeeper')
  const items = listAt(invoice, 'items')
  const plan = partAt(invoice, 'plan')
  const title = t('money.byBookkeeper', { type: bookkeeperName(textAt(bookkeeper, 'type')) })
  return (
    <Stack gap="xs" role="group" aria-label={title}>
      <Group gap="xs">
        <Title order={3} size="h5">
          {title}
        </Title>
        <Badge variant="default">{textAt(bookkeeper, 'id')}</Badge>
      </Group>
      {items.length === 0 ? (
        <Text size="sm">{t('money.nothingPriced')}</Text>
      ) : (
        <Wide label={title}>
          <Table aria-label={title}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t('charges.item')}</Table.Th>
                <Table.Th ta="end">{t('charges.quantity')}</Table.Th>
                <Table.Th ta="end">{t('charges.rate')}</Table.Th>
                <Table.Th ta="end">{t('charges.total')}</Table.Th>
                <Table.Th>{t('money.why.title')}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {items.map((item, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: lines of an answer never change places
                <ItemRows key={index} item={item} plan={planOf(plan, item)} />
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
      )}
      <Once lines={[...listAt(invoice, 'activation_charges'), ...listAt(invoice, 'prorations')]} />
      {listAt(invoice, 'taxes').map((tax) => (
        <Text key={sayTax(tax)} size="sm" ta="end">
          {sayTax(tax)}
        </Text>
      ))}
      <Totals summary={partAt(invoice, 'summary')} />
    </Stack>
  )
}
