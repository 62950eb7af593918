import { getEdgeStates, type StateOfAnEdge } from '@crosspoint/client'
import { Badge, Text } from '@mantine/core'
import { Router } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showNumber } from '../../lib/amounts.ts'
import { api } from '../../lib/api.ts'
import { showSpan, showTime } from '../../lib/times.ts'
import { Empty } from '../../parts/empty.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'

const everyMilliseconds = 10_000

const useColumns = (): readonly Column<StateOfAnEdge>[] => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  return [
    { id: 'host', title: t('edges.host'), show: ({ host }) => host },
    {
      id: 'state',
      title: t('edges.state'),
      show: ({ reachable, reason }) => (
        <>
          <Badge color={reachable ? 'green' : 'red'}>
            {t(reachable ? 'edges.reachable' : 'edges.notReachable')}
          </Badge>
          {reason !== undefined && (
            <Text span size="xs" c="dimmed" ml={6}>
              {reason}
            </Text>
          )}
        </>
      ),
    },
    {
      id: 'changes',
      title: t('edges.changes'),
      isExtra: true,
      show: ({ current }) => (current === undefined ? '–' : t(current ? 'edges.current' : 'edges.behind')),
    },
    {
      id: 'outage',
      title: t('edges.outage'),
      isExtra: true,
      show: ({ alerted }) => (alerted === undefined ? '–' : showTime(alerted, timezone)),
    },
    {
      id: 'calls',
      title: t('edges.calls'),
      isNumber: true,
      show: ({ calls }) => (calls === undefined ? '–' : showNumber(calls)),
    },
    {
      id: 'uptime',
      title: t('edges.uptime'),
      isExtra: true,
      isNumber: true,
      show: ({ uptime_s }) => (uptime_s === undefined ? '–' : showSpan(uptime_s)),
    },
    { id: 'version', title: t('edges.version'), isWide: true, show: ({ version }) => version },
  ]
}

/** The SIP edges of the settings, as each reports itself. */
export const EdgeList = () => {
  const { t } = useTranslation()
  const to = useTo()
  const columns = useColumns()
  return (
    <Screen title={t('edges.title')}>
      <RowList
        label={t('edges.title')}
        queryKey={['edge_state']}
        read={(_start, signal) => getEdgeStates({ ...api, signal })}
        columns={columns}
        rowKey={({ host }) => host}
        every={everyMilliseconds}
        empty={
          <Empty
            Icon={Router}
            text={t('edges.empty')}
            next={{ to: to('system/settings/switch'), label: t('edges.toSettings') }}
          />
        }
      />
    </Screen>
  )
}
