import { type Channel, listChannels, replaceChannel } from '@crosspoint/client'
import { Badge, Text } from '@mantine/core'
import { PhoneOff } from 'lucide-react'
import { useEffect, useReducer, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useChange } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { gregorianNow, showDuration, showTime } from '../../lib/times.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { useEdgeFacts } from '../../parts/edge-facts.tsx'
import { ButtonToScreen, ToScreen } from '../../parts/link.tsx'
import { RowAction } from '../../parts/row-action.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'

// Milliseconds between two reads: calls in progress send no event.
const callPeriod = 5_000

interface Row extends Channel {
  /** When it was answered, or began to ring, in Gregorian seconds by this machine's clock. */
  since: number
}

const callerOf = ({ username, from }: Channel) => username ?? from

/** The time since then, second by second. */
const Running = ({ since }: { since: number }) => {
  const [, tick] = useReducer((count: number) => count + 1, 0)
  useEffect(() => {
    const ticking = setInterval(tick, 1000)
    return () => clearInterval(ticking)
  }, [])
  return showDuration(Math.max(0, gregorianNow() - since))
}

const Caller = ({ call }: { call: Channel }) => {
  const to = useTo()
  const { authorizing_id, authorizing_type, from } = call
  const name = <bdi title={from}>{callerOf(call)}</bdi>
  if (authorizing_type !== 'device') return name
  return <ToScreen to={to(`devices/${authorizing_id}`)}>{name}</ToScreen>
}

const useColumns = (hangUp: (call: Row) => void): readonly Column<Row>[] => {
  const { t } = useTranslation()
  const { timezone, isPlainUser } = usePlace()
  const { userId } = crosspoint.session() ?? {}
  return [
    {
      id: 'from',
      title: t('calls.callerColumn'),
      show: (call) => (
        <>
          <Caller call={call} />
          <Text size="xs" c="dimmed" hiddenFrom="sm">
            → <bdi>{call.destination}</bdi>
          </Text>
        </>
      ),
    },
    {
      id: 'to',
      title: t('calls.calleeColumn'),
      isExtra: true,
      show: ({ destination, to }) => <bdi title={to}>{destination}</bdi>,
    },
    {
      id: 'direction',
      title: t('calls.direction'),
      isExtra: true,
      show: ({ direction }) => direction && t(`calls.directions.${direction}`, { defaultValue: direction }),
    },
    {
      id: 'state',
      title: t('liveCalls.state'),
      isExtra: true,
      show: ({ answered }) => (
        <Badge color={answered ? 'green' : 'gray'}>
          {t(answered ? 'liveCalls.answered' : 'liveCalls.ringing')}
        </Badge>
      ),
    },
    {
      id: 'start',
      title: t('calls.start'),
      isWide: true,
      show: ({ timestamp }) => showTime(timestamp, timezone),
    },
    { id: 'edge', title: t('liveCalls.edge'), isWide: true, show: ({ node }) => node },
    {
      id: 'duration',
      title: t('calls.duration'),
      isNumber: true,
      show: ({ since }) => <Running since={since} />,
    },
    {
      id: 'end',
      title: t('liveCalls.action'),
      isNumber: true,
      show: (call) =>
        (!isPlainUser || (userId !== undefined && call.owner_id === userId)) && (
          <RowAction
            label={t('liveCalls.hangUpOf', { from: callerOf(call), to: call.destination })}
            onClick={() => hangUp(call)}
          >
            <PhoneOff size={18} aria-hidden />
          </RowAction>
        ),
    },
  ]
}

/** Adds when calls were answered. The first answer about a call counts, so that its duration never jumps back. */
const useStarts = () => {
  const known = useRef(new Map<string, number>())
  return (calls: readonly Channel[]): readonly Row[] => {
    const rows = calls.map((call) => {
      const seconds = call.answered ? call.elapsed_s : undefined
      const key = `${call.uuid} ${call.answered}`
      const since =
        known.current.get(key) ?? (seconds === undefined ? call.timestamp : gregorianNow() - seconds)
      return { key, row: { ...call, since } }
    })
    known.current = new Map(rows.map(({ key, row }) => [key, row.since]))
    return rows.map(({ row }) => row)
  }
}

/** The calls in progress of the account. */
export const LiveCallList = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const path = { account_id: accountId }
  const [asked, setAsked] = useState<Row>()
  const columns = useColumns(setAsked)
  const withStarts = useStarts()
  const close = () => setAsked(undefined)
  const hangingUp = useChange({
    touches: ['channel'],
    run: ({ uuid }: Row) =>
      replaceChannel({ ...api, path: { ...path, uuid }, body: { data: { action: 'hangup' } } }),
    done: () => {
      close()
      tellDone(t('liveCalls.hungUp'))
    },
  })
  const { noted, note, empty } = useEdgeFacts(<Text>{t('liveCalls.empty')}</Text>)
  return (
    <Screen
      title={t('liveCalls.title')}
      actions={
        <ButtonToScreen to={to('calls')} variant="default">
          {t('screens.calls')}
        </ButtonToScreen>
      }
    >
      {note}
      <RowList
        label={t('liveCalls.title')}
        queryKey={['channel', accountId]}
        read={async (_start, signal) => {
          const { data } = await noted(listChannels({ ...api, path, signal }))
          return { data: withStarts(data) }
        }}
        columns={columns}
        rowKey={({ uuid }) => uuid}
        empty={empty}
        every={callPeriod}
      />
      {asked && (
        <Confirm
          opened
          title={t('liveCalls.hangUpTitle')}
          text={t('liveCalls.hangUpText', { from: callerOf(asked), to: asked.destination })}
          action={t('liveCalls.hangUp')}
          busy={hangingUp.isPending}
          onConfirm={() => hangingUp.mutate(asked)}
          onClose={close}
        />
      )}
    </Screen>
  )
}
