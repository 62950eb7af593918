import { createGroup } from '@crosspoint/client'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { api } from '../../lib/api.ts'
import { NewRecord } from '../../parts/new-record.tsx'
import { Screen } from '../../parts/screen.tsx'
import { groups, own } from './fields.tsx'

export const NewGroup = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  return (
    <Screen title={t('groups.new')}>
      <NewRecord
        kind="group"
        schemaName="groups"
        groups={groups}
        own={own}
        initial={{ endpoints: {} }}
        create={(record) => {
          const data = { name: '', endpoints: {}, ...record }
          return createGroup({ ...api, path: { account_id: accountId }, body: { data } })
        }}
        to={(id) => to(`groups/${id}`)}
      />
    </Screen>
  )
}
