import { listConnectivity } from '@crosspoint/client'
import { Badge, Group, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showNumber } from '../../lib/amounts.ts'
import { api } from '../../lib/api.ts'
import { ButtonToScreen, ToScreen } from '../../parts/link.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'
import { LimitsLine } from './limits-line.tsx'
import { kind, numbersOf, useTrunk } from './use-trunk.ts'

// The list has only ids, so each visible trunk is read.

const Name = ({ id }: { id: string }) => {
  const { t } = useTranslation()
  const to = useTo()
  const trunk = useTrunk(id).data?.data
  return (
    <ToScreen to={to(`trunks/${id}`)}>{trunk && <bdi>{trunk.name || t('trunks.unnamed')}</bdi>}</ToScreen>
  )
}

const Servers = ({ id }: { id: string }) => {
  const { t } = useTranslation()
  const servers = useTrunk(id).data?.data.servers ?? []
  return (
    <Group gap="xs" wrap="nowrap">
      {servers.map(({ server_name, auth, options }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: servers have no id
        <Group key={index} gap={4} wrap="nowrap">
          <bdi>{server_name || auth.auth_user || auth.ip}</bdi>
          {options?.enabled === false && <Badge color="red.9">{t('trunks.disabled')}</Badge>}
        </Group>
      ))}
    </Group>
  )
}

const NumberCount = ({ id }: { id: string }) => {
  const trunk = useTrunk(id).data?.data
  return trunk && showNumber(numbersOf(trunk).length)
}

/** The trunks of an account. */
export const TrunkList = () => {
  const { t } = useTranslation()
  const { accountId: account_id } = usePlace()
  const to = useTo()
  const columns: readonly Column<string>[] = [
    { id: 'name', title: t('trunks.name'), show: (id) => <Name id={id} /> },
    { id: 'servers', title: t('trunks.servers'), show: (id) => <Servers id={id} /> },
    { id: 'numbers', title: t('trunks.numbers'), isNumber: true, show: (id) => <NumberCount id={id} /> },
  ]
  return (
    <Screen
      title={t('trunks.title')}
      actions={<ButtonToScreen to={to('trunks/new')}>{t('trunks.new')}</ButtonToScreen>}
    >
      <LimitsLine>{t('trunks.about')}</LimitsLine>
      <RowList<string>
        label={t('trunks.title')}
        queryKey={[kind, account_id, 'list']}
        read={(start_key, signal) =>
          listConnectivity({ ...api, path: { account_id }, query: { start_key, descending: false }, signal })
        }
        columns={columns}
        rowKey={(id) => id}
        empty={<Text maw="60rem">{t('trunks.empty')}</Text>}
      />
    </Screen>
  )
}
