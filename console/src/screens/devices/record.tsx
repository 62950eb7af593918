import { deleteDevice, getDevice, updateDevice } from '@crosspoint/client'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { DeleteButton } from '../../parts/delete-button.tsx'
import { RecordFormTabs } from '../../parts/record-form.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { Edge } from '../edge/edge.tsx'
import { CallTab } from './call-tab.tsx'
import { groups, own } from './fields.tsx'
import { Status } from './status.tsx'

const DeleteDevice = ({ name }: { name: string }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const { deviceId = '' } = useParams()
  const to = useTo()
  return (
    <DeleteButton
      title={t('devices.deleteTitle')}
      text={t('devices.deleteText', { name })}
      touches={['device']}
      run={() => deleteDevice({ ...api, path: { account_id: accountId, device_id: deviceId } })}
      to={to('devices')}
    />
  )
}

/** One phone. */
export const DeviceRecord = () => {
  const { t } = useTranslation()
  const { accountId, realm } = usePlace()
  const { deviceId = '' } = useParams()
  const path = { account_id: accountId, device_id: deviceId }
  const found = useAnswer(['device', accountId, deviceId], (signal) => getDevice({ ...api, path, signal }))
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { data, revision = '' } = found.data
  return (
    <Screen title={data.name} actions={<DeleteDevice name={data.name} />}>
      <Status deviceId={deviceId} />
      <RecordFormTabs
        key={deviceId}
        kind="device"
        apiPath={`/v2/accounts/${accountId}/devices/${deviceId}`}
        schemaName="devices"
        groups={groups}
        own={own}
        record={data}
        revision={revision}
        save={(changes, more) => updateDevice({ ...api, ...more, path, body: { data: changes } })}
        tabs={[
          { id: 'call', title: t('devices.callTab'), show: () => <CallTab path={path} /> },
          {
            id: 'edge',
            title: t('screens.edge'),
            show: () => (
              <Edge
                subject={{
                  accountId,
                  device: { id: deviceId, username: data.sip?.username, realm: data.sip?.realm ?? realm },
                }}
              />
            ),
          },
        ]}
      />
    </Screen>
  )
}
