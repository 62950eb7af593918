import { deleteCallflow, getCallflow, updateCallflow } from '@crosspoint/client'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { DeleteButton } from '../../parts/delete-button.tsx'
import { RecordFormTabs } from '../../parts/record-form.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { groups, own } from './fields.tsx'
import { titleOf } from './titles.ts'

/** One callflow. */
export const CallflowRecord = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const { callflowId = '' } = useParams()
  const to = useTo()
  const path = { account_id: accountId, callflow_id: callflowId }
  const found = useAnswer(['callflow', accountId, callflowId], (signal) =>
    getCallflow({ ...api, path, signal }),
  )
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { data, revision = '' } = found.data
  const name = titleOf(data)
  return (
    <Screen
      title={name}
      actions={
        <DeleteButton
          label={t('callflows.delete')}
          title={t('callflows.deleteTitle')}
          text={t('callflows.deleteText', { name })}
          touches={['callflow', 'number']}
          run={() => deleteCallflow({ ...api, path })}
          to={to('callflows')}
        />
      }
    >
      <RecordFormTabs
        key={callflowId}
        kind="callflow"
        apiPath={`/v2/accounts/${accountId}/callflows/${callflowId}`}
        schemaName="callflows"
        groups={groups}
        own={own}
        whole={['flow']}
        record={data}
        revision={revision}
        save={(changes, more) => updateCallflow({ ...api, ...more, path, body: { data: changes } })}
      />
    </Screen>
  )
}
