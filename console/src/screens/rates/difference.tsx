import { Badge, Chip, Group, ScrollArea, Stack, Table, Text } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { showCallPrice, showNumber, showPercent } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { crosspoint } from '../../lib/api.ts'
import type { Task } from '../../lib/tasks.ts'
import { readLines } from '../tasks/lines.ts'

const kinds = ['changed', 'added', 'unchanged', 'failed'] as const
type Kind = (typeof kinds)[number]

// Rows of each kind that are shown; the others are only counted.
const mostRows = 500

interface Row {
  number: number
  prefix: string
  name: string
  deck: string
  price: string
  previous: string
  error: string
}

export interface Difference {
  counts: Readonly<Record<Kind, number>>
  rows: Readonly<Record<Kind, readonly Row[]>>
}

const readDifference = async (bytes: ReadableStream<Uint8Array>): Promise<Difference> => {
  const counts = { changed: 0, added: 0, unchanged: 0, failed: 0 }
  const rows: Record<Kind, Row[]> = { changed: [], added: [], unchanged: [], failed: [] }
  await readLines(bytes, (cells, number, header) => {
    const cell = (name: string) => cells[header.indexOf(name)] ?? ''
    const change = cell('change')
    const kind = kinds.find((known) => known === change) ?? 'failed'
    counts[kind] += 1
    if (rows[kind].length < mostRows)
      rows[kind].push({
        number,
        prefix: cell('prefix'),
        name: cell('rate_name'),
        deck: cell('ratedeck_id'),
        price: cell('rate_cost'),
        previous: cell('previous_rate_cost'),
        error: cell('error'),
      })
    return false
  })
  return { counts, rows }
}

/** What the rows of a dry run would do to the stored rates. */
export const useDifference = ({ id, status }: Task) => {
  const { accountId } = usePlace()
  return useAnswer(['task_output', accountId, id, status, 'difference'], async (signal) => {
    const path = `/v2/accounts/${accountId}/tasks/${id}/output`
    const { body } = await crosspoint.open({ path, accept: 'text/csv', signal })
    return readDifference(body ?? new Blob([]).stream())
  })
}

const priceIn = (cell: string) => (cell === '' ? '' : showCallPrice(Number(cell)))

/** How much dearer or cheaper a rate becomes. */
const Step = ({ row: { price, previous } }: { row: Row }) => {
  const { t } = useTranslation()
  const [now, before] = [Number(price), Number(previous)]
  if (previous === '') return null
  if (now === before) return <Text size="sm">{t('rates.samePrice')}</Text>
  const share = before > 0 ? showPercent(Math.abs(now / before - 1)) : ''
  return (
    <Badge variant="light" color={now > before ? 'orange' : 'green'}>
      {now > before ? '+' : '−'}
      {share}
    </Badge>
  )
}

/** The rows by what happens to them: their number, and the first of each kind with old and new price. */
export const DifferenceTable = ({ difference: { counts, rows } }: { difference: Difference }) => {
  const { t } = useTranslation()
  const [chosen, setChosen] = useState<Kind>(kinds.find((kind) => counts[kind] > 0) ?? 'changed')
  const shown = rows[chosen]
  const has = (key: 'name' | 'deck' | 'previous' | 'error') => shown.some((row) => row[key] !== '')
  return (
    <Stack gap="sm">
      <Chip.Group value={chosen} onChange={(value) => setChosen(value as Kind)}>
        <Group gap="xs" role="radiogroup" aria-label={t('rates.show')}>
          {kinds.map((kind) => (
            <Chip key={kind} value={kind} size="sm" disabled={counts[kind] === 0}>
              {t(`rates.change.${kind}`)}: {showNumber(counts[kind])}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
      {shown.length > 0 && (
        <ScrollArea.Autosize
          mah={480}
          type="auto"
          viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': t(`rates.change.${chosen}`) }}
        >
          <Table aria-label={t(`rates.change.${chosen}`)} stickyHeader>
            <Table.Thead>
              <Table.Tr>
                <Table.Th visibleFrom="sm">{t('rates.row')}</Table.Th>
                <Table.Th>{t('rates.prefix')}</Table.Th>
                {has('name') && <Table.Th visibleFrom="sm">{t('field.name')}</Table.Th>}
                {has('deck') && <Table.Th visibleFrom="sm">{t('rates.deck')}</Table.Th>}
                {has('previous') && <Table.Th ta="end">{t('rates.oldPrice')}</Table.Th>}
                <Table.Th ta="end">{t(has('previous') ? 'rates.newPrice' : 'rates.perMinute')}</Table.Th>
                {chosen === 'changed' && <Table.Th ta="end">{t('rates.step')}</Table.Th>}
                {has('error') && <Table.Th>{t('rates.reason')}</Table.Th>}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {shown.map((row) => (
                <Table.Tr key={row.number}>
                  <Table.Td visibleFrom="sm" c="dimmed">
                    {row.number}
                  </Table.Td>
                  <Table.Td>{row.prefix}</Table.Td>
                  {has('name') && <Table.Td visibleFrom="sm">{row.name}</Table.Td>}
                  {has('deck') && <Table.Td visibleFrom="sm">{row.deck}</Table.Td>}
                  {has('previous') && <Table.Td ta="end">{priceIn(row.previous)}</Table.Td>}
                  <Table.Td ta="end">{chosen === 'failed' ? row.price : priceIn(row.price)}</Table.Td>
                  {chosen === 'changed' && (
                    <Table.Td ta="end">
                      <Step row={row} />
                    </Table.Td>
                  )}
                  {has('error') && <Table.Td style={{ overflowWrap: 'anywhere' }}>{row.error}</Table.Td>}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </ScrollArea.Autosize>
      )}
      {counts[chosen] > shown.length && (
        <Text size="xs" c="dimmed">
          {t('rates.onlyFirst', { count: shown.length })}
        </Text>
      )}
    </Stack>
  )
}
