import { getJob } from '@crosspoint/client'
import { Alert, Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { usePlace } from '../../frame/place.tsx'
import { showNumber } from '../../lib/amounts.ts'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { showTime } from '../../lib/times.ts'
import { AccountLink } from '../../parts/account-link.tsx'
import { FactTable } from '../../parts/fact-table.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { JobRetry } from './job-retry.tsx'
import { JobState, jobKinds, useJobTitle } from './work.tsx'

const waitingMilliseconds = 5_000

/** One background job: what it does, its last result and its next attempt. */
export const JobRecord = () => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const titleOf = useJobTitle()
  const { kind = '', jobId = '' } = useParams()
  const id = decodeURIComponent(jobId)
  const found = useAnswer(['work', kind, id], (signal) => getJob({ ...api, path: { kind, id }, signal }), {
    every: (answer) => answer?.data.state === 'waiting' && waitingMilliseconds,
  })
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const job = found.data.data
  const { state, attempts, due, since, finished, outcome, account_id: accountId } = job
  const time = (at: number | undefined) => (at === undefined ? '' : showTime(at, timezone))
  const facts: readonly (readonly [title: string, value: ReactNode])[] = [
    [
      t('system.account'),
      accountId === 'system' ? t('system.wholeSystem') : <AccountLink key={accountId} id={accountId} />,
    ],
    [t('system.since'), time(since)],
    [t('system.attempts'), showNumber(attempts)],
    ...(state === 'waiting'
      ? [[t('system.due'), time(due)] as const]
      : [[t('system.finished'), time(finished)] as const]),
    [t('system.jobId'), id],
  ]
  return (
    <Screen title={titleOf(kind)} actions={<JobRetry job={job} />}>
      <Stack maw="48rem">
        <Group>
          <JobState job={job} />
        </Group>
        {jobKinds.some((known) => known === kind) && <Text>{t(`system.jobs.${kind}.text`)}</Text>}
        {outcome !== '' && (
          <Alert
            color={state === 'failed' ? 'red' : state === 'done' ? 'green' : attempts > 0 ? 'orange' : 'gray'}
            title={t(state === 'done' ? 'system.outcome' : 'system.lastResult')}
          >
            <Text size="sm" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
              {outcome}
            </Text>
          </Alert>
        )}
        {state === 'failed' && <Text size="sm">{t('system.givenUp')}</Text>}
        <FactTable label={t('system.job')} facts={facts} />
      </Stack>
    </Screen>
  )
}
