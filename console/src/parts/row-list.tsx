import { Box, Center, Loader, Table, Text } from '@mantine/core'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Key } from '../lib/answers.ts'
import { FailureNote } from '../lib/failures.tsx'
import { type ReadPage, usePages } from '../lib/pages.ts'

export interface Column<Row> {
  id: string
  title: string
  show: (row: Row) => ReactNode
  /** Left out where the screen is narrow. */
  isExtra?: boolean
  /** Numbers are right-aligned. */
  isNumber?: boolean
}

interface RowList<Row> {
  /** The name of the list for screen readers only. */
  label: string
  queryKey: Key
  read: ReadPage<Row>
  columns: readonly Column<Row>[]
  rowKey: (row: Row) => string
  /** Shown instead of an empty list: what it contains and how to add the first row. */
  empty?: ReactNode
  /** Milliseconds between two reads of visible rows, for data without events. */
  every?: number
}

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

/** A table of any number of rows that is read page by page while one scrolls. */
export const RowList = <Row,>({ label, queryKey, read, columns, rowKey, empty, every }: RowList<Row>) => {
  const { t } = useTranslation()
  const frame = useRef<HTMLElement>(null)
  const rows = usePages(queryKey, read, every)
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
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section ref={frame} className="row-list" aria-label={label} tabIndex={0}>
        <Table
          stickyHeader
          highlightOnHover
          aria-label={label}
          aria-rowcount={rows.isComplete ? rows.count + 1 : -1}
        >
          <Table.Thead>
            <Table.Tr>
              {columns.map(({ id, title, isExtra, isNumber }) => (
                <Table.Th key={id} visibleFrom={isExtra ? 'sm' : undefined} ta={isNumber ? 'end' : undefined}>
                  {title}
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
                  {columns.map(({ id, show, isExtra, isNumber }) => (
                    <Table.Td
                      key={id}
                      visibleFrom={isExtra ? 'sm' : undefined}
                      ta={isNumber ? 'end' : undefined}
                    >
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
      <Text size="xs" c="dimmed" mt={4} role="status">
        {rows.isComplete ? t('list.all', { count: rows.count }) : t('list.some', { count: rows.count })}
      </Text>
      {rows.error ? <FailureNote error={rows.error} again={rows.again} /> : null}
    </>
  )
}
