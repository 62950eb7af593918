import { Group, Pagination, Stack, Switch, Text } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { showNumber } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { crosspoint } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import type { Task } from '../../lib/tasks.ts'
import { Loading } from '../../parts/screen.tsx'
import { readLines } from './lines.ts'
import { SheetTable } from './sheet.tsx'

// Further rows are left to the file.
const mostRows = 1_000
const rowsOfPage = 50

interface Found {
  header: readonly string[]
  rows: readonly { number: number; cells: readonly string[] }[]
  /** Nothing was left out. */
  isAll: boolean
}

/** Reads as much of an output as is shown. */
const readOutput = async (bytes: ReadableStream<Uint8Array>, isOnlyFailed: boolean): Promise<Found> => {
  const rows: { number: number; cells: readonly string[] }[] = []
  const header = await readLines(bytes, (cells, number, names) => {
    const error = cells[names.indexOf('error')]
    if (!isOnlyFailed || (error !== undefined && error !== '')) rows.push({ number, cells })
    return rows.length > mostRows
  })
  return { header, rows: rows.slice(0, mostRows), isAll: rows.length <= mostRows }
}

/** The results of the rows, page by page; the beginning of a long output. */
export const Output = ({ task }: { task: Task }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const [page, setPage] = useState(1)
  const [isOnlyFailed, setIsOnlyFailed] = useState((task.failure_count ?? 0) > 0)
  const path = `/v2/accounts/${accountId}/tasks/${task.id}/output`
  const hasOutput = task.csvs?.includes('out.csv') === true
  const found = useAnswer(
    ['task_output', accountId, task.id, task.status, isOnlyFailed],
    async (signal) => {
      const { body } = await crosspoint.open({ path, accept: 'text/csv', signal })
      return readOutput(body ?? new Blob([]).stream(), isOnlyFailed)
    },
    { enabled: hasOutput },
  )
  if (!hasOutput) return <Text>{t('tasks.noOutput')}</Text>
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  const rows = found.data?.rows ?? []
  const pages = Math.ceil(rows.length / rowsOfPage)
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        {found.data?.header.includes('error') !== false && (
          <Switch
            label={t('tasks.onlyFailed')}
            checked={isOnlyFailed}
            onChange={({ currentTarget: { checked } }) => {
              setIsOnlyFailed(checked)
              setPage(1)
            }}
          />
        )}
        {pages > 1 && (
          <Pagination
            total={pages}
            value={page}
            onChange={setPage}
            size="sm"
            getControlProps={(control) => ({ 'aria-label': t(`tasks.pages.${control}`) })}
            getItemProps={(item) => ({ 'aria-label': t('tasks.pages.item', { page: item }) })}
          />
        )}
      </Group>
      {!found.data && <Loading />}
      {found.data && (
        <>
          <SheetTable
            label={t('tasks.output')}
            header={found.data.header}
            rows={rows.slice((page - 1) * rowsOfPage, page * rowsOfPage)}
          />
          <Text size="xs" c="dimmed" role="status">
            {found.data.isAll
              ? t('tasks.rows', { count: showNumber(rows.length) })
              : t('tasks.onlyBeginning', { count: showNumber(rows.length) })}
          </Text>
        </>
      )}
    </Stack>
  )
}
