import { listJobs, retryJob, type Work } from '@crosspoint/client'
import { Badge, Button, Group, Select } from '@mantine/core'
import { CircleCheck } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { showTime } from '../../lib/times.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { Empty } from '../../parts/empty.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'

const colors = { waiting: 'gray', done: 'green', failed: 'red' } as const

const Retry = ({ job: { kind, id, state } }: { job: Work }) => {
  const { t } = useTranslation()
  const retrying = useChange({
    touches: ['work'],
    run: () => retryJob({ ...api, path: { kind, id } }),
    done: () => tellDone(t('system.triedNow')),
  })
  if (state !== 'waiting') return null
  return (
    <Button
      size="compact-xs"
      variant="default"
      loading={retrying.isPending}
      onClick={() => retrying.mutate(undefined)}
      title={t('system.tryNamed', { kind, id })}
    >
      {t('system.try')}
    </Button>
  )
}

const useColumns = (): readonly Column<Work>[] => {
  const { t } = useTranslation()
  return [
    { id: 'kind', title: t('system.kind'), show: ({ kind }) => kind },
    { id: 'since', title: t('system.since'), isExtra: true, show: ({ since }) => showTime(since) },
    {
      id: 'state',
      title: t('system.state'),
      show: ({ state }) => <Badge color={colors[state]}>{t(`system.workState.${state}`)}</Badge>,
    },
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
      show: ({ state, due }) => (state === 'waiting' && due ? showTime(due) : ''),
    },
    { id: 'outcome', title: t('system.outcome'), isExtra: true, show: ({ outcome }) => outcome },
    { id: 'retry', title: t('system.action'), show: (job) => <Retry job={job} /> },
  ]
}

/** Background jobs and their results: email, billing providers, provisioning. */
export const WorkList = () => {
  const { t } = useTranslation()
  const columns = useColumns()
  const [state, setState] = useState<string | null>(null)
  const query = state === null ? {} : { state }
  return (
    <>
      <Group mb="md">
        <Select
          label={t('system.state')}
          placeholder={t('events.any')}
          data={Object.keys(colors).map((value) => ({ value, label: t(`system.workState.${value}`) }))}
          value={state}
          onChange={setState}
          clearable
        />
      </Group>
      <RowList
        label={t('system.work')}
        queryKey={['work', query]}
        read={(start_key, signal) => listJobs({ ...api, query: { ...query, start_key }, signal })}
        columns={columns}
        rowKey={({ kind, id }) => `${kind} ${id}`}
        empty={<Empty Icon={CircleCheck} text={t('system.noWork')} />}
      />
    </>
  )
}
