import { deleteGroup, getGroup, updateGroup } from '@crosspoint/client'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { DeleteButton } from '../../parts/delete-button.tsx'
import { RecordFormTabs } from '../../parts/record-form.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { GroupCallflows } from './callflows.tsx'
import { groups, own } from './fields.tsx'

/** One group. */
export const GroupRecord = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const { groupId = '' } = useParams()
  const to = useTo()
  const path = { account_id: accountId, group_id: groupId }
  const found = useAnswer(['group', accountId, groupId], (signal) => getGroup({ ...api, path, signal }))
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { data, revision = '' } = found.data
  return (
    <Screen
      title={data.name}
      actions={
        <DeleteButton
          label={t('groups.delete')}
          title={t('groups.deleteTitle')}
          text={t('groups.deleteText', { name: data.name })}
          touches={['group']}
          run={() => deleteGroup({ ...api, path })}
          to={to('groups')}
        />
      }
    >
      <GroupCallflows groupId={groupId} />
      <RecordFormTabs
        key={groupId}
        kind="group"
        apiPath={`/v2/accounts/${accountId}/groups/${groupId}`}
        schemaName="groups"
        groups={groups}
        own={own}
        record={data}
        revision={revision}
        save={(changes, more) => updateGroup({ ...api, ...more, path, body: { data: changes } })}
      />
    </Screen>
  )
}
