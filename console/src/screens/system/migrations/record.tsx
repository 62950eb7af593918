import { getMigration, performMigration, type RunOfAMigration } from '@crosspoint/client'
import { Button, Checkbox, Code, Group, Stack, Table, Text, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { usePlace } from '../../../frame/place.tsx'
import { showNumber } from '../../../lib/amounts.ts'
import { useAnswer, useChange } from '../../../lib/answers.ts'
import { api } from '../../../lib/api.ts'
import { FailureNote } from '../../../lib/failures.tsx'
import { gregorianNow, showTime } from '../../../lib/times.ts'
import { tellDone } from '../../../lib/toasts.tsx'
import { AccountLink } from '../../../parts/account-link.tsx'
import { Confirm } from '../../../parts/confirm.tsx'
import { WorkProgress } from '../../../parts/progress.tsx'
import { Loading, Screen } from '../../../parts/screen.tsx'
import { useMigrationTexts } from './runs.ts'

const runningMilliseconds = 1_000

/** Accounts per second since the start. */
const rateOf = (started: number | undefined, done: number) => {
  const seconds = started === undefined ? 0 : gregorianNow() - started
  return seconds > 0 && done > 0 ? done / seconds : undefined
}

const Run = ({ run }: { run: RunOfAMigration }) => {
  const { t } = useTranslation()
  const {
    status,
    total,
    performed,
    failed,
    skipped,
    changed,
    failures = [],
    requested_time,
    started_time,
  } = run
  const done = performed + failed + skipped
  const facts = [
    [t('system.run.performed'), performed],
    [t('system.run.failed'), failed],
    [t('system.run.skipped'), skipped],
    [t('system.run.changed'), changed],
  ] as const
  return (
    <Stack component="section" aria-label={t('system.run.title')}>
      <Title order={2} size="h4">
        {t('system.run.title')}: {t(`system.run.status.${status}`)}
      </Title>
      <WorkProgress
        label={t('system.run.progress')}
        done={done}
        total={total}
        words={[t('system.run.of', { done: showNumber(done), total: showNumber(total) })]}
        isRunning={status === 'running'}
        hasFailures={failed > 0}
        knownRate={rateOf(started_time, done)}
      />
      <Table aria-label={t('system.run.title')} maw="30rem">
        <Table.Tbody>
          {facts.map(([title, value]) => (
            <Table.Tr key={title}>
              <Table.Th scope="row" fw={400}>
                {title}
              </Table.Th>
              <Table.Td ta="end">{showNumber(value)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {failures.length > 0 && (
        <Stack gap={4}>
          <Title order={3} size="h5">
            {t('system.run.failures')}
          </Title>
          <Table aria-label={t('system.run.failures')}>
            <Table.Tbody>
              {failures.map(({ account_id, message }) => (
                <Table.Tr key={account_id}>
                  <Table.Td>
                    <AccountLink id={account_id} />
                  </Table.Td>
                  <Table.Td style={{ overflowWrap: 'anywhere' }}>{message}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Stack>
      )}
      <Text size="xs" c="dimmed">
        {t('system.run.asked', { time: showTime(requested_time) })}
      </Text>
    </Stack>
  )
}

/** One migration: what it does, how far the last run of it is, and another one. */
export const MigrationRecord = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const textsOf = useMigrationTexts()
  const { migrationId = '' } = useParams()
  const path = { account_id: accountId, migration_id: migrationId }
  const [withBelow, setWithBelow] = useState(true)
  const [withResellers, setWithResellers] = useState(true)
  const [opened, { open, close }] = useDisclosure(false)
  const [isFollowed, setIsFollowed] = useState(true)
  const found = useAnswer(
    ['migration', accountId, migrationId],
    (signal) => getMigration({ ...api, path, signal }),
    {
      every: isFollowed && runningMilliseconds,
    },
  )
  const performing = useChange({
    touches: ['migration'],
    run: () =>
      performMigration({
        ...api,
        path,
        body: {
          data: {
            perform_migration: 'now',
            include_descendants: withBelow,
            include_resellers: withResellers,
          },
        },
      }),
    done: () => {
      close()
      tellDone(t('system.run.begun'))
    },
  })
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { run } = found.data.data
  const { title, text } = textsOf(found.data.data)
  const isRunning = run !== undefined && run.status !== 'finished'
  if (isFollowed !== isRunning) setIsFollowed(isRunning)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    open()
  }
  return (
    <Screen title={title}>
      <Text size="sm" c="dimmed">
        {text} <Code>{migrationId}</Code>
      </Text>
      <form onSubmit={submit}>
        <Stack>
          <Checkbox
            label={t('system.run.withBelow')}
            checked={withBelow}
            onChange={({ currentTarget }) => setWithBelow(currentTarget.checked)}
          />
          <Checkbox
            label={t('system.run.withResellers')}
            checked={withResellers}
            disabled={!withBelow}
            onChange={({ currentTarget }) => setWithResellers(currentTarget.checked)}
          />
          <Group>
            <Button type="submit" disabled={isRunning}>
              {t('system.run.begin')}
            </Button>
          </Group>
        </Stack>
      </form>
      <Confirm
        opened={opened}
        title={t('system.run.askTitle', { name: title })}
        text={t(withBelow ? 'system.run.askBelow' : 'system.run.askText')}
        action={t('system.run.begin')}
        isDangerous={false}
        busy={performing.isPending}
        onConfirm={() => performing.mutate(undefined)}
        onClose={close}
      />
      {run && <Run run={run} />}
    </Screen>
  )
}
