import { createCallflow } from '@crosspoint/client'
import { useTranslation } from 'react-i18next'
import { useSearch } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { api } from '../../lib/api.ts'
import type { JsonObject } from '../../lib/json.ts'
import { NewRecord } from '../../parts/new-record.tsx'
import { Screen } from '../../parts/screen.tsx'
import { groups, own } from './fields.tsx'

/** A callflow that rings a group. */
const ringing = (groupId: string): JsonObject => ({
  group_id: groupId,
  flow: {
    module: 'ring_group',
    data: { endpoints: [{ endpoint_type: 'group', id: groupId }] },
    children: {},
  },
})

export const NewCallflow = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  // The page of the group that led here.
  const groupId = new URLSearchParams(useSearch()).get('group_id')
  return (
    <Screen title={t('callflows.new')}>
      <NewRecord
        kind="callflow"
        schemaName="callflows"
        groups={groups}
        own={own}
        initial={groupId === null ? {} : ringing(groupId)}
        create={(record) => {
          // A flow that is missing is refused by the server, which names the field.
          const data = record as Parameters<typeof createCallflow>[0]['body']['data']
          return createCallflow({ ...api, path: { account_id: accountId }, body: { data } })
        }}
        to={(id) => to(`callflows/${id}`)}
      />
    </Screen>
  )
}
