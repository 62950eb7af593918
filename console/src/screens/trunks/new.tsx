import { createConnectivity } from '@crosspoint/client'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { api } from '../../lib/api.ts'
import { NewRecord } from '../../parts/new-record.tsx'
import { Screen } from '../../parts/screen.tsx'
import { newGroups, newServer, own } from './fields.tsx'
import { kind } from './use-trunk.ts'

export const NewTrunk = () => {
  const { t } = useTranslation()
  const { accountId: account_id } = usePlace()
  const to = useTo()
  return (
    <Screen title={t('trunks.new')}>
      <NewRecord
        kind={kind}
        schemaName="connectivity"
        groups={newGroups}
        own={own}
        initial={{ servers: [newServer] }}
        create={(data) => createConnectivity({ ...api, path: { account_id }, body: { data } })}
        to={(id) => to(`trunks/${id}`)}
      />
    </Screen>
  )
}
