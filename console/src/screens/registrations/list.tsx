import {
  deleteRegistration,
  deleteRegistrations,
  listRegistrations,
  type Registration,
} from '@crosspoint/client'
import { Button, Stack, Text } from '@mantine/core'
import { Unplug } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { gregorianNow, showClock, showTime } from '../../lib/times.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { useEdgeFacts } from '../../parts/edge-facts.tsx'
import { ButtonToScreen, ToScreen } from '../../parts/link.tsx'
import { RowAction } from '../../parts/row-action.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'
import { registrationPeriod } from '../devices/columns.tsx'

interface Row extends Registration {
  /** When it ends, in Gregorian seconds by this machine's clock. */
  until: number
}

/** An IPv6 address is in brackets already. */
const addressOf = (host = '', port?: number) => (port === undefined ? host : `${host}:${port}`)

const useColumns = (end: (row: Row) => void): readonly Column<Row>[] => {
  const { t } = useTranslation()
  const { timezone, isPlainUser } = usePlace()
  const to = useTo()
  const columns: Column<Row>[] = [
    {
      id: 'phone',
      title: t('registrations.phone'),
      show: ({ authorizing_id, username }) => (
        <ToScreen to={to(`devices/${authorizing_id}`)}>
          <bdi>{username}</bdi>
        </ToScreen>
      ),
    },
    {
      id: 'source',
      title: t('registrations.source'),
      show: ({ source_ip, source_port, proxy_protocol }) => (
        <>
          {addressOf(source_ip, source_port)}{' '}
          <Text span c="dimmed" size="xs" visibleFrom="sm">
            {proxy_protocol?.toUpperCase()}
          </Text>
        </>
      ),
    },
    {
      id: 'contact',
      title: t('registrations.contact'),
      isWide: true,
      show: ({ contact, contact_ip, contact_port }) => (
        <span title={contact}>{addressOf(contact_ip, contact_port)}</span>
      ),
    },
    { id: 'agent', title: t('registrations.agent'), isExtra: true, show: ({ user_agent }) => user_agent },
    {
      id: 'since',
      title: t('registrations.since'),
      isWide: true,
      show: ({ event_timestamp }) => showTime(event_timestamp, timezone),
    },
    {
      id: 'until',
      title: t('registrations.until'),
      isExtra: true,
      show: ({ until }) => showClock(until, timezone),
    },
  ]
  if (isPlainUser) return columns
  return [
    ...columns,
    {
      id: 'end',
      title: t('registrations.action'),
      isNumber: true,
      show: (row) => (
        <RowAction label={t('registrations.endOf', { name: row.username })} onClick={() => end(row)}>
          <Unplug size={18} aria-hidden />
        </RowAction>
      ),
    },
  ]
}

/** Ends the registrations of one phone, or of all phones of the account. */
const useEnding = (done: () => void) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  return useChange({
    touches: ['registration', 'device'],
    run: (username: string | undefined) =>
      username === undefined
        ? deleteRegistrations({ ...api, path: { account_id: accountId } })
        : deleteRegistration({ ...api, path: { account_id: accountId, username } }),
    done: () => {
      done()
      tellDone(t('registrations.ended'))
    },
  })
}

/** Which phones are registered, and from where. */
export const RegistrationList = () => {
  const { t } = useTranslation()
  const { accountId, name, isPlainUser } = usePlace()
  const to = useTo()
  const [asked, setAsked] = useState<Row | 'all'>()
  const [count, setCount] = useState(0)
  const columns = useColumns(setAsked)
  const close = () => setAsked(undefined)
  const ending = useEnding(close)
  const { noted, note, empty } = useEdgeFacts(
    <Stack align="start">
      <Text>{t('registrations.empty')}</Text>
      <ButtonToScreen to={to('devices')} variant="default">
        {t('screens.devices')}
      </ButtonToScreen>
    </Stack>,
  )
  const read = async (signal: AbortSignal) => {
    const { data } = await noted(listRegistrations({ ...api, path: { account_id: accountId }, signal }))
    setCount(data.length)
    return { data: data.map((row) => ({ ...row, until: gregorianNow() + row.expires })) }
  }
  const one = asked === 'all' ? undefined : asked
  return (
    <Screen
      title={t('registrations.title')}
      actions={
        !isPlainUser &&
        count > 0 && (
          <Button variant="default" onClick={() => setAsked('all')}>
            {t('registrations.endAll')}
          </Button>
        )
      }
    >
      {note}
      <RowList
        label={t('registrations.title')}
        queryKey={['registration', accountId]}
        read={(_start, signal) => read(signal)}
        columns={columns}
        rowKey={({ registrar_hostname, username, contact, call_id }) =>
          [registrar_hostname, username, contact, call_id].join(' ')
        }
        empty={empty}
        every={registrationPeriod}
      />
      <Confirm
        opened={asked !== undefined}
        title={t(one ? 'registrations.endTitle' : 'registrations.endAllTitle')}
        text={
          one
            ? t('registrations.endText', { name: one.username })
            : t('registrations.endAllText', { name, count })
        }
        action={t(one ? 'registrations.end' : 'registrations.endAll')}
        busy={ending.isPending}
        onConfirm={() => ending.mutate(one?.username)}
        onClose={close}
      />
    </Screen>
  )
}
