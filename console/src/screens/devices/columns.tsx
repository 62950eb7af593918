import { Badge } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useTo } from '../../frame/place.tsx'
import { ToScreen } from '../../parts/link.tsx'
import type { Column } from '../../parts/row-list.tsx'
import { useDeviceType } from './types.ts'

// Milliseconds between two reads: registrations send no event.
export const registrationPeriod = 15_000

/** What a list and a search tell of a phone. */
export interface DeviceRow {
  id: string
  name?: string
  device_type?: string
  mac_address?: string
  enabled?: boolean
  /** Absent in searches, and for what does not register. */
  registered?: boolean
}

export const Registration = ({ enabled, registered }: Pick<DeviceRow, 'enabled' | 'registered'>) => {
  const { t } = useTranslation()
  if (enabled === false) return <Badge color="red">{t('devices.disabled')}</Badge>
  if (registered === undefined) return null
  return (
    <Badge color={registered ? 'green' : 'gray'}>
      {registered ? t('devices.registered') : t('devices.notRegistered')}
    </Badge>
  )
}

export const useDeviceColumns = (): readonly Column<DeviceRow>[] => {
  const { t } = useTranslation()
  const to = useTo()
  const typeName = useDeviceType()
  return [
    {
      id: 'name',
      title: t('devices.name'),
      show: ({ id, name }) => (
        <ToScreen to={to(`devices/${id}`)}>
          <bdi>{name}</bdi>
        </ToScreen>
      ),
    },
    {
      id: 'type',
      title: t('devices.type'),
      isExtra: true,
      show: ({ device_type }) => device_type && typeName(device_type),
    },
    { id: 'mac', title: t('devices.macAddress'), isExtra: true, show: ({ mac_address }) => mac_address },
    { id: 'state', title: t('devices.state'), show: (row) => <Registration {...row} /> },
  ]
}
