import { createTask, startTask } from '@crosspoint/client'
import {
  Alert,
  Button,
  FileInput,
  Group,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useLocation } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showBytes, showNumber } from '../../lib/amounts.ts'
import { useAnswer, useChange } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { taskIn } from '../../lib/tasks.ts'
import { dayAfter, gregorianNow, offsetAt, startOfDay } from '../../lib/times.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { followUpload } from '../../lib/uploads.ts'
import { WorkProgress } from '../../parts/progress.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { type Action, useActions } from './actions.ts'
import { checkHeader, type HeaderCheck, type Preview, previewOf } from './preview.ts'
import { Refusal } from './refusal.tsx'
import { SheetTable } from './sheet.tsx'

const idOf = ({ category, action }: Action) => `${category}/${action}`

const ActionChoice = ({
  actions,
  value,
  onChange,
}: {
  actions: readonly Action[]
  value: Action | undefined
  onChange: (id: string | null) => void
}) => {
  const { t } = useTranslation()
  const categories = [...new Set(actions.map(({ category }) => category))]
  return (
    <Select
      label={t('tasks.action')}
      placeholder={t('tasks.chooseAction')}
      searchable
      value={value ? idOf(value) : null}
      onChange={onChange}
      data={categories.map((category) => ({
        group: t(`tasks.categories.${category}`, { defaultValue: category }),
        items: actions
          .filter((one) => one.category === category)
          .map((one) => ({ value: idOf(one), label: one.description })),
      }))}
    />
  )
}

const ColumnNames = ({ title, names }: { title: string; names: readonly string[] }) =>
  names.length > 0 && (
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
      {title}: {names.join(', ')}
    </Text>
  )

const About = ({ action }: { action: Action }) => {
  const { t } = useTranslation()
  return (
    <Stack gap={4}>
      <Text size="sm" style={{ whiteSpace: 'pre-line' }}>
        {action.doc}
      </Text>
      {action.columns && (
        <>
          <ColumnNames title={t('tasks.mandatory')} names={action.columns.mandatory} />
          <ColumnNames title={t('tasks.optional')} names={action.columns.optional} />
        </>
      )}
    </Stack>
  )
}

const HeaderNote = ({ check }: { check: HeaderCheck }) => {
  const { t } = useTranslation()
  const { missing, unknown } = check
  if (missing.length === 0 && unknown.length === 0)
    return (
      <Text size="sm" role="status">
        {t('tasks.headerFits')}
      </Text>
    )
  return (
    <Alert color={missing.length > 0 ? 'red' : 'yellow'} role="alert" title={t('tasks.header')}>
      <ColumnNames title={t('tasks.missing')} names={missing} />
      <ColumnNames title={t('tasks.unknown')} names={unknown} />
    </Alert>
  )
}

const Beginning = ({ file, preview, check }: { file: File; preview: Preview; check: HeaderCheck }) => {
  const { t } = useTranslation()
  const { header, rows, rowCount, isGuess } = preview
  const count = showNumber(rowCount)
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        {t('tasks.preview')}
      </Title>
      <Text size="sm" c="dimmed">
        {showBytes(file.size)} · {isGuess ? t('tasks.aboutRows', { count }) : t('tasks.rows', { count })}
      </Text>
      <HeaderNote check={check} />
      {header.length > 0 && (
        <SheetTable
          label={t('tasks.preview')}
          header={header}
          rows={rows.map((cells, at) => ({ number: at + 1, cells }))}
        />
      )}
    </Stack>
  )
}

/** How much of a file is on its way. */
const Sending = ({ file, sent }: { file: File; sent: number }) => {
  const { t } = useTranslation()
  return (
    <WorkProgress
      label={t('tasks.sending')}
      done={sent}
      total={file.size}
      words={[t('tasks.sent', { sent: showBytes(sent), total: showBytes(file.size) })]}
      isRunning
      amount={showBytes}
    />
  )
}

interface Wish {
  action: Action
  file: File | undefined
  days: { from: string; to: string }
  isDryRun: boolean
}

/** Making a task, with how much of its file has been sent. */
const useMaking = (opens: (id: string) => string) => {
  const { accountId, timezone } = usePlace()
  const path = { account_id: accountId }
  const { t } = useTranslation()
  const [, go] = useLocation()
  const ending = useRef(new AbortController())
  const [sent, setSent] = useState<number>()
  const [refusal, setRefusal] = useState<unknown>()
  useEffect(() => () => ending.current.abort(), [])

  const make = ({ action: { category, action, parameters }, file, days, isDryRun }: Wish) => {
    const query = { category, action, ...(isDryRun ? { dry_run: true } : {}) }
    if (file) {
      followUpload(file, setSent)
      ending.current = new AbortController()
      return crosspoint
        .request({
          method: 'PUT',
          path: `/v2/accounts/${accountId}/tasks`,
          query: { ...query, file_name: file.name },
          headers: { 'content-type': 'text/csv' },
          body: file,
          signal: ending.current.signal,
        })
        .then(({ envelope }) => envelope)
    }
    const range = parameters.includes('created_from')
      ? {
          ...(days.from === '' ? {} : { created_from: startOfDay(days.from, timezone) }),
          ...(days.to === '' ? {} : { created_to: startOfDay(dayAfter(days.to, 1), timezone) - 1 }),
          utc_offset: offsetAt(gregorianNow(), timezone),
        }
      : {}
    return createTask({ ...api, path, query, body: { data: range } })
  }

  const making = useChange({
    touches: ['task'],
    run: async (wish: Wish) => {
      setRefusal(undefined)
      try {
        const { id } = taskIn(await make(wish))
        // A dry run changes nothing and starts without a question.
        if (wish.isDryRun) await startTask({ ...api, path: { ...path, task_id: id } })
        return id
      } finally {
        setSent(undefined)
      }
    },
    done: (id) => {
      tellDone(t('created'))
      go(opens(id))
    },
    failed: (error) => {
      if (!ending.current.signal.aborted) setRefusal(error)
      return true
    },
  })
  return {
    making,
    sent,
    refusal,
    forgetRefusal: () => setRefusal(undefined),
    stop: () => ending.current.abort(),
  }
}

/** A form for a task. With `fixed`, it only starts a dry run of this action, on a screen that compares. */
export const TaskForm = ({
  actions,
  fixed,
  opens,
}: {
  actions: readonly Action[]
  fixed?: Action
  /** The address of the screen that shows the new task. */
  opens: (id: string) => string
}) => {
  const { t } = useTranslation()
  const [chosen, setChosen] = useState<string>()
  const [file, setFile] = useState<File>()
  const [days, setDays] = useState({ from: '', to: '' })
  const { making, sent, refusal, forgetRefusal, stop } = useMaking(opens)
  const action = fixed ?? actions.find((one) => idOf(one) === chosen)
  // Identifies a file; the time distinguishes files of the same name.
  const previewKey = file ? [file.name, file.size, file.lastModified] : []
  const preview = useAnswer(['file', ...previewKey], () => previewOf(file ?? new File([], '')), {
    enabled: file !== undefined,
  })
  const check = action?.columns && preview.data ? checkHeader(preview.data.header, action.columns) : undefined
  const takesFile = action?.columns !== undefined
  const isReady = action && (!takesFile || (file && check && check.missing.length === 0))
  const make = (isDryRun: boolean) =>
    action && making.mutate({ action, file: takesFile ? file : undefined, days, isDryRun })
  const range = action?.parameters.includes('created_from') === true
  return (
    <Stack gap="lg" maw="60rem">
      {!fixed && (
        <ActionChoice
          actions={actions}
          value={action}
          onChange={(id) => {
            setChosen(id ?? undefined)
            forgetRefusal()
          }}
        />
      )}
      {action && !fixed && <About action={action} />}
      {takesFile && (
        <FileInput
          label={t('tasks.file')}
          description={t('tasks.fileHelp')}
          placeholder={t('tasks.chooseFile')}
          accept=".csv,text/csv"
          clearable
          clearButtonProps={{ 'aria-label': t('tasks.noFile') }}
          value={file ?? null}
          onChange={(given) => {
            setFile(given ?? undefined)
            forgetRefusal()
          }}
        />
      )}
      {range && (
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          {(['from', 'to'] as const).map((end) => (
            <TextInput
              key={end}
              type="date"
              label={t(`calls.${end}`)}
              value={days[end]}
              onChange={({ currentTarget: { value } }) => setDays({ ...days, [end]: value })}
            />
          ))}
        </SimpleGrid>
      )}
      {preview.error && <FailureNote error={preview.error} />}
      {takesFile && file && preview.data && check && (
        <Beginning file={file} preview={preview.data} check={check} />
      )}
      {refusal !== undefined && <Refusal error={refusal} />}
      {sent !== undefined && file && <Sending file={file} sent={sent} />}
      <Group className="form-actions">
        {takesFile && (
          <Button disabled={!isReady || making.isPending} onClick={() => make(true)}>
            {t(fixed ? 'tasks.compare' : 'tasks.makeDryRun')}
          </Button>
        )}
        {!fixed && (
          <Button
            variant={takesFile ? 'default' : undefined}
            disabled={!isReady || making.isPending}
            onClick={() => make(false)}
          >
            {t('tasks.make')}
          </Button>
        )}
        {sent !== undefined && (
          <Button variant="default" onClick={stop}>
            {t('cancel')}
          </Button>
        )}
      </Group>
      <Text size="sm" c="dimmed">
        {fixed ? t('tasks.compareHelp') : takesFile ? t('tasks.dryRunHelp') : t('tasks.startHelp')}
      </Text>
    </Stack>
  )
}

/** A task that is not there yet: what it does, with which file, and whether that fits. */
export const NewTask = () => {
  const { t } = useTranslation()
  const to = useTo()
  const { actions, error, again } = useActions()
  return (
    <Screen title={t('tasks.new')}>
      {error && <FailureNote error={error} again={again} />}
      {!actions && !error && <Loading />}
      {actions && <TaskForm actions={actions} opens={(id) => to(`tasks/${id}`)} />}
    </Screen>
  )
}
