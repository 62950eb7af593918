import type { ResourceRow } from '@crosspoint/client'
import { Badge, Group, Text } from '@mantine/core'
import { Network } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showNumber } from '../../lib/amounts.ts'
import { Empty } from '../../parts/empty.tsx'
import { ButtonToScreen, ToScreen } from '../../parts/link.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'
import { type Scope, type ScopeName, useCarrier, useScope } from './scope.ts'

/** Hosts of gateways. Rows of the list do not have them, so each visible carrier is read. */
const Gateways = ({ scope, id }: { scope: Scope; id: string }) =>
  useCarrier(scope, id)
    .data?.data.gateways.map(({ server }) => server)
    .join(', ')

const Rules = ({ scope, id }: { scope: Scope; id: string }) => {
  const { t } = useTranslation()
  const carrier = useCarrier(scope, id).data?.data
  if (!carrier) return null
  const { rules = [], classifiers } = carrier
  if (rules.length > 0) return <bdi>{rules.join(', ')}</bdi>
  return (
    <Text span c="dimmed">
      {t(classifiers ? 'carriers.byClass' : 'carriers.noRules')}
    </Text>
  )
}

const useColumns = (scope: Scope): readonly Column<ResourceRow>[] => {
  const { t } = useTranslation()
  const to = useTo()
  return [
    {
      id: 'name',
      title: t('carriers.name'),
      show: ({ id, name }) => (
        <ToScreen to={to(`${scope.screen}/${id}`)}>
          <bdi>{name}</bdi>
        </ToScreen>
      ),
    },
    {
      id: 'state',
      title: t('carriers.state'),
      show: ({ enabled, emergency }) => (
        <Group gap={4} wrap="nowrap">
          <Badge color={enabled ? 'green' : 'red'}>
            {t(enabled ? 'carriers.enabled' : 'carriers.disabled')}
          </Badge>
          {emergency && <Badge variant="default">{t('carriers.emergency')}</Badge>}
        </Group>
      ),
    },
    {
      id: 'weight',
      title: t('carriers.priority'),
      isNumber: true,
      show: ({ weight_cost }) => showNumber(weight_cost),
    },
    {
      id: 'gateways',
      title: t('carriers.gateways'),
      isExtra: true,
      show: ({ id }) => <Gateways scope={scope} id={id} />,
    },
    {
      id: 'rules',
      title: t('carriers.rules'),
      isExtra: true,
      show: ({ id }) => <Rules scope={scope} id={id} />,
    },
  ]
}

/** The carriers of an account, or of the system. */
export const CarrierList = ({ scopeName }: { scopeName: ScopeName }) => {
  const { t } = useTranslation()
  const to = useTo()
  const scope = useScope(scopeName)
  const columns = useColumns(scope)
  const title = t(`carriers.of.${scopeName}`)
  const { isPlainUser } = usePlace()
  const newAddress = to(`${scope.screen}/new`)
  const toNew = !isPlainUser && <ButtonToScreen to={newAddress}>{t('carriers.new')}</ButtonToScreen>
  return (
    <Screen title={title} actions={toNew}>
      <Text c="dimmed" size="sm" maw="60rem">
        {t(`carriers.about.${scopeName}`)}
      </Text>
      <RowList<ResourceRow>
        label={title}
        queryKey={[...scope.key, 'list']}
        list={scope.list}
        order={{ by: 'name', descending: false }}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          <Empty
            Icon={Network}
            text={t(`carriers.empty.${scopeName}`)}
            next={!isPlainUser && { to: newAddress, label: t('carriers.new') }}
          />
        }
      />
    </Screen>
  )
}
