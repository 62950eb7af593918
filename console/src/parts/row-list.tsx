import { Box, Center, Group, Loader, Table, Text, UnstyledButton } from '@mantine/core'
import { useVirtualizer } from '@tanstack/react-virtual'
import { ArrowDown, ArrowDownUp, ArrowUp } from 'lucide-react'
import { type ReactNode, type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Key } from '../lib/answers.ts'
import { FailureNote } from '../lib/failures.tsx'
import type { ListSource } from '../lib/list-source.ts'
import { type ReadPage, usePages } from '../lib/pages.ts'
import { ColumnChoice, useChosenColumns } from './column-choice.tsx'
import { SaveButton } from './save-button.tsx'

export interface Column<Row> {
  id: string
  title: string
  show: (row: Row) => ReactNode
  /** Left out where the screen is narrow. */
  isExtra?: boolean
  /** Hidden until the user chooses it. */
  isOptional?: boolean
  /** Shown where the screen is wide only. */
  isWide?: boolean
  /** Numbers are right-aligned. */
  isNumber?: boolean
  /** How the list is sorted by this column. */
  sorted?: 'ascending' | 'descending' | 'none'
  onSort?: () => void
}

const arrows = { ascending: ArrowUp, descending: ArrowDown, none: ArrowDownUp }

const Heading = <Row,>({ title, sorted = 'none', onSort }: Column<Row>) => {
  if (!onSort) return title
  const Arrow = arrows[sorted]
  return (
    <UnstyledButton onClick={onSort} fz="inherit" fw="inherit" c="inherit">
      <Group gap={4} wrap="nowrap" component="span">
        {title}
        <Arrow size={14} aria-hidden />
      </Group>
    </UnstyledButton>
  )
}

interface Order {
  by: string
  descending: boolean
}

interface RowList<Row> {
  /** The name of the list for screen readers, and of its CSV file. */
  label: string
  queryKey: Key
  /** A list of the API, which may be saved as CSV. */
  list?: ListSource<Row>
  /** Reads a page of what is no list of the API. */
  read?: ReadPage<Row>
  /** The column that the API orders the list by, and the order at first. The user may reverse it. */
  order?: Order
  columns: readonly Column<Row>[]
  rowKey: (row: Row) => string
  /** Shown instead of an empty list: what it contains and how to add the first row. */
  empty?: ReactNode
  /** Milliseconds between two reads of visible rows, for data without events. */
  every?: number
}

const shownFrom = ({ isExtra, isWide }: Pick<Column<unknown>, 'isExtra' | 'isWide'>) =>
  isWide ? 'lg' : isExtra ? 'sm' : undefined

const rowHeight = 44
const readAhead = 10

// Browsers draw at most 33 million pixels: a longer list has this number of rows at once and replaces them near
// an end.
const stretchRows = 400_000
const shiftRows = 200_000
const marginRows = 1_000

/** Which of the known rows is the first one that is there, while one scrolls. */
const useStretch = (frame: RefObject<HTMLElement | null>, count: number) => {
  const [origin, setOrigin] = useState(0)
  const wantedTop = useRef<number>(undefined)
  // The scroll position stays, on other rows of the list.
  useLayoutEffect(() => {
    const top = wantedTop.current
    wantedTop.current = undefined
    if (top !== undefined) frame.current?.scrollTo(0, top)
  })
  useEffect(() => {
    const shift = (rows: number) => {
      // Asked for before the list changes its height, which may move what is in sight.
      wantedTop.current = (frame.current?.scrollTop ?? 0) - rows * rowHeight
      setOrigin(origin + rows)
    }
    // Not what is drawn, which may be a moment behind.
    const first = (frame.current?.scrollTop ?? 0) / rowHeight
    if (origin > 0 && (origin >= count || first < marginRows)) shift(-shiftRows)
    else if (first > stretchRows - marginRows && count > origin + stretchRows) shift(shiftRows)
  })
  return { origin, length: Math.min(stretchRows, Math.max(0, count - origin)) }
}

const Spacer = ({ height, columns }: { height: number; columns: number }) =>
  height > 0 ? (
    <tr aria-hidden style={{ height }}>
      <td colSpan={columns} />
    </tr>
  ) : null

/** The columns, of which the one that orders the list reverses it. */
const withOrder = <Row,>(
  columns: readonly Column<Row>[],
  order: Order | undefined,
  onReverse: () => void,
): readonly Column<Row>[] =>
  order === undefined
    ? columns
    : columns.map((column) =>
        column.id === order.by
          ? {
              ...column,
              sorted: order.descending ? 'descending' : 'ascending',
              onSort: onReverse,
            }
          : column,
      )

/** A table of any number of rows that is read page by page while one scrolls. */
export const RowList = <Row,>(props: RowList<Row>) => {
  const { label, queryKey, list, read, columns: all, rowKey, empty, every } = props
  const { t } = useTranslation()
  const frame = useRef<HTMLElement>(null)
  const [isReversed, setReversed] = useState(false)
  const order = props.order && { ...props.order, descending: props.order.descending !== isReversed }
  const { columns, choice } = useChosenColumns(String(queryKey[0]), all)
  const query = order && { descending: order.descending }
  const csv = list?.csv
  const readPage: ReadPage<Row> = (startKey, signal) => {
    if (read) return read(startKey, signal)
    if (list)
      return list.page({ ...query, ...(startKey === undefined ? {} : { start_key: startKey }) }, signal)
    throw new Error('a list needs a way to read its pages')
  }
  const rows = usePages(order ? [...queryKey, order.descending] : queryKey, readPage, every)
  const { origin, length } = useStretch(frame, rows.count)
  const virtual = useVirtualizer({
    count: length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    overscan: readAhead,
  })
  const items = virtual.getVirtualItems()
  const first = items[0]
  const last = items.at(-1)
  const [from, to] = [first?.index ?? 0, last?.index ?? 0]
  const { see } = rows
  useEffect(() => see(origin + from, origin + to), [see, origin, from, to])

  if (rows.error && rows.count === 0) return <FailureNote error={rows.error} again={rows.again} />
  if (rows.isFirstLoading) {
    return (
      <Center mih={120}>
        <Loader role="status" aria-label={t('loading')} />
      </Center>
    )
  }
  if (rows.count === 0) return <Box py="md">{empty ?? <Text c="dimmed">{t('list.empty')}</Text>}</Box>
  const height = rows.isComplete ? 'row-list whole' : 'row-list'
  return (
    <div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section ref={frame} className={height} aria-label={label} tabIndex={0}>
        <Table
          stickyHeader
          highlightOnHover
          aria-label={label}
          aria-rowcount={rows.isComplete ? rows.count + 1 : -1}
        >
          <Table.Thead>
            <Table.Tr>
              {withOrder(columns, order, () => setReversed(!isReversed)).map((column) => (
                <Table.Th
                  key={column.id}
                  visibleFrom={shownFrom(column)}
                  ta={column.isNumber ? 'end' : undefined}
                  aria-sort={column.sorted}
                >
                  <Heading {...column} />
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            <Spacer height={first?.start ?? 0} columns={columns.length} />
            {items.map((item) => {
              const row = rows.rowAt(origin + item.index)
              return (
                <Table.Tr
                  key={row ? rowKey(row) : item.key}
                  aria-rowindex={origin + item.index + 2}
                  h={rowHeight}
                >
                  {columns.map(({ id, show, isNumber, ...width }) => (
                    <Table.Td key={id} visibleFrom={shownFrom(width)} ta={isNumber ? 'end' : undefined}>
                      {row ? <div className="row-cell">{show(row)}</div> : '…'}
                    </Table.Td>
                  ))}
                </Table.Tr>
              )
            })}
            <Spacer height={virtual.getTotalSize() - (last?.end ?? 0)} columns={columns.length} />
          </Table.Tbody>
        </Table>
      </section>
      <Group justify="space-between" mt={4} gap="xs">
        <Text size="xs" c="dimmed" role="status">
          {rows.isComplete ? t('list.all', { count: rows.count }) : t('list.some', { count: rows.count })}
        </Text>
        <Group gap="xs">
          {choice && <ColumnChoice {...choice} />}
          {csv && (
            <SaveButton name={`${label}.csv`} size="compact-sm" open={(signal) => csv({ ...query }, signal)}>
              {t('list.csv')}
            </SaveButton>
          )}
        </Group>
      </Group>
      {rows.error ? <FailureNote error={rows.error} again={rows.again} /> : null}
    </div>
  )
}
