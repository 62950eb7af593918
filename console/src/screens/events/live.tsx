import type { CrosspointEvent } from '@crosspoint/client'
import { Button, Code, Group, Stack, Switch, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { useActorName } from '../../lib/actors.ts'
import { crosspoint } from '../../lib/api.ts'
import { showTime } from '../../lib/times.ts'

// The number of events on the screen; older ones are in the audit log.
const mostShown = 200

interface Following {
  accountId: string
  withCalls: boolean
  withBelow: boolean
  isPaused: boolean
}

const useFollowing = ({ accountId, withCalls, withBelow, isPaused }: Following) => {
  const [events, setEvents] = useState<readonly CrosspointEvent[]>([])
  const [state, setState] = useState('connecting')
  useEffect(() => {
    if (isPaused) return
    const ending = new AbortController()
    const follow = async () => {
      const following = crosspoint.follow({
        accountId,
        after: 'now',
        includeSubaccounts: withBelow,
        ...(withCalls ? { types: ['cdr.created'] } : {}),
        signal: ending.signal,
        onState: setState,
      })
      for await (const event of following) setEvents((before) => [event, ...before].slice(0, mostShown))
    }
    follow().catch(() => setState('off'))
    return () => ending.abort()
  }, [accountId, withCalls, withBelow, isPaused])
  return { events, state, clear: () => setEvents([]) }
}

const EventRow = ({ event }: { event: CrosspointEvent }) => {
  const { timezone } = usePlace()
  const who = useActorName(event.actor)
  const [opened, { toggle }] = useDisclosure(false)
  return (
    <>
      <Table.Tr>
        <Table.Td>{showTime(event.at, timezone)}</Table.Td>
        <Table.Td>
          <Button variant="subtle" size="compact-sm" aria-expanded={opened} onClick={toggle}>
            {event.type}
          </Button>
        </Table.Td>
        <Table.Td visibleFrom="sm">{who}</Table.Td>
      </Table.Tr>
      {opened && (
        <Table.Tr>
          <Table.Td colSpan={3}>
            <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
              {JSON.stringify(event, undefined, 2)}
            </Code>
          </Table.Td>
        </Table.Tr>
      )}
    </>
  )
}

/** What happens in the account, as it happens. */
export const LiveFeed = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const [withCalls, setWithCalls] = useState(false)
  const [withBelow, setWithBelow] = useState(false)
  const [isPaused, setIsPaused] = useState(false)
  const { events, state, clear } = useFollowing({ accountId, withCalls, withBelow, isPaused })
  return (
    <Stack>
      <Group>
        <Switch
          label={t('events.withBelow')}
          checked={withBelow}
          onChange={({ currentTarget }) => setWithBelow(currentTarget.checked)}
        />
        <Switch
          label={t('events.onlyCalls')}
          checked={withCalls}
          onChange={({ currentTarget }) => setWithCalls(currentTarget.checked)}
        />
        <Button variant="default" size="xs" onClick={() => setIsPaused(!isPaused)}>
          {isPaused ? t('events.goOn') : t('events.pause')}
        </Button>
        <Button variant="default" size="xs" onClick={clear}>
          {t('events.clear')}
        </Button>
      </Group>
      <Text size="sm" role="status">
        {isPaused ? t('events.paused') : t(`events.state.${state}`)}
      </Text>
      {events.length > 0 && (
        <Table aria-label={t('events.live')}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('events.when')}</Table.Th>
              <Table.Th>{t('events.type')}</Table.Th>
              <Table.Th visibleFrom="sm">{t('events.who')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {events.map((event) => (
              <EventRow key={`${event.sequence} ${event.account_id}`} event={event} />
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Stack>
  )
}
