import { listJobs, type Work } from '@crosspoint/client'
import { Badge, Chip, Group, Select, Text } from '@mantine/core'
import { CircleCheck } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useSearch } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showNumber } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { listOf } from '../../lib/list-source.ts'
import { showTime } from '../../lib/times.ts'
import { Empty } from '../../parts/empty.tsx'
import { ToScreen } from '../../parts/link.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { JobRetry } from './job-retry.tsx'

type JobState = Work['state']

const states: readonly JobState[] = ['failed', 'waiting', 'done']

const stateIn = (text: string | readonly string[] | null) => states.find((one) => one === text) ?? 'all'

export const jobKinds = [
  'mail',
  'password_recovery',
  'new_user',
  'provisioning',
  'synchronization',
  'transactions',
  'departed_calls',
  'joined_calls',
  'ended_registrations',
  'ended_calls',
  'topup',
  'low_balance',
] as const

/** The name of a kind of jobs in words. */
export const useJobTitle = () => {
  const { t } = useTranslation()
  return (kind: string) => t(`system.jobs.${kind}.title`, { defaultValue: kind })
}

/** A waiting job that was tried before is being retried. */
export const JobState = ({ job: { state, attempts } }: { job: Pick<Work, 'state' | 'attempts'> }) => {
  const { t } = useTranslation()
  const shown = state === 'waiting' && attempts > 0 ? 'retrying' : state
  const colors = { waiting: 'gray', retrying: 'orange', done: 'green', failed: 'red' }
  return (
    <Badge variant="light" color={colors[shown]}>
      {t(`system.workState.${shown}`)}
    </Badge>
  )
}

const mostCounted = 100
const countMilliseconds = 10_000

/** The jobs in a state, counted up to a limit: `7`, `100+`. */
export const useJobCount = (state: JobState) =>
  useAnswer(
    ['work', 'count', state],
    async (signal) => {
      const query = { state, page_size: mostCounted }
      const { data, next_start_key: next } = await listJobs({ ...api, query, signal })
      return `${showNumber(data.length)}${next === undefined ? '' : '+'}`
    },
    { every: countMilliseconds },
  )

const StateChip = ({ state }: { state: JobState }) => {
  const { t } = useTranslation()
  const { data: count = '…' } = useJobCount(state)
  return (
    <Chip value={state} size="sm">
      {t(`system.workState.${state}`)}: {count}
    </Chip>
  )
}

const useColumns = (): readonly Column<Work>[] => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const to = useTo()
  const titleOf = useJobTitle()
  return [
    {
      id: 'kind',
      title: t('system.kind'),
      show: ({ kind, id }) => (
        <ToScreen to={to(`system/work/${kind}/${encodeURIComponent(id)}`)}>{titleOf(kind)}</ToScreen>
      ),
    },
    { id: 'state', title: t('system.state'), show: (job) => <JobState job={job} /> },
    { id: 'outcome', title: t('system.outcome'), isExtra: true, show: ({ outcome }) => outcome },
    {
      id: 'attempts',
      title: t('system.attempts'),
      isExtra: true,
      isNumber: true,
      show: ({ attempts }) => attempts,
    },
    {
      id: 'due',
      title: t('system.due'),
      isExtra: true,
      show: ({ state, due }) => (state === 'waiting' && due ? showTime(due, timezone) : ''),
    },
    {
      id: 'retry',
      title: t('system.action'),
      isExtra: true,
      show: (job) => <JobRetry job={job} size="compact-xs" />,
    },
  ]
}

/** Background jobs and their results: email, billing providers, provisioning. */
export const WorkList = () => {
  const { t } = useTranslation()
  const columns = useColumns()
  const titleOf = useJobTitle()
  const asked = new URLSearchParams(useSearch()).get('state')
  const [state, setState] = useState<JobState | 'all'>(stateIn(asked))
  const [kind, setKind] = useState<string | null>(null)
  const query = { ...(state === 'all' ? {} : { state }), ...(kind === null ? {} : { kind }) }
  return (
    <>
      <Text size="sm" c="dimmed" maw="60rem">
        {t('system.workText')}
      </Text>
      <Group align="end" justify="space-between">
        <Chip.Group value={state} onChange={(value) => setState(stateIn(value))}>
          <Group gap="xs" role="radiogroup" aria-label={t('system.state')}>
            <Chip value="all" size="sm">
              {t('system.workState.all')}
            </Chip>
            {states.map((one) => (
              <StateChip key={one} state={one} />
            ))}
          </Group>
        </Chip.Group>
        <Select
          aria-label={t('system.kind')}
          placeholder={t('system.allKinds')}
          data={jobKinds.map((value) => ({ value, label: titleOf(value) }))}
          value={kind}
          onChange={setKind}
          clearable
          searchable
        />
      </Group>
      <RowList
        label={t('system.work')}
        queryKey={['work', query]}
        list={listOf(listJobs, { query })}
        columns={columns}
        rowKey={({ kind: of, id }) => `${of} ${id}`}
        empty={
          <Empty
            Icon={CircleCheck}
            text={t(state === 'all' && kind === null ? 'system.noWork' : 'system.noWorkFound')}
          />
        }
        every={countMilliseconds}
      />
    </>
  )
}
