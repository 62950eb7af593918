import { deleteConnectivity, updateConnectivity } from '@crosspoint/client'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { DeleteButton } from '../../parts/delete-button.tsx'
import { RecordFormTabs } from '../../parts/record-form.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { groups, own } from './fields.tsx'
import { LimitsLine } from './limits-line.tsx'
import { kind, numbersOf, useTrunk } from './use-trunk.ts'

/** One trunk. */
export const TrunkRecord = () => {
  const { t } = useTranslation()
  const { accountId: account_id } = usePlace()
  const { trunkId = '' } = useParams()
  const to = useTo()
  const path = { account_id, connectivity_id: trunkId }
  const found = useTrunk(trunkId)
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { data, revision = '' } = found.data
  const name = data.name || t('trunks.unnamed')
  return (
    <Screen
      title={name}
      actions={
        <DeleteButton
          label={t('trunks.delete')}
          title={t('trunks.deleteTitle')}
          text={t('trunks.deleteText', { name, count: numbersOf(data).length })}
          touches={[kind, 'number']}
          run={() => deleteConnectivity({ ...api, path })}
          to={to('trunks')}
        />
      }
    >
      <LimitsLine>{t('trunks.counts', { count: numbersOf(data).length })}</LimitsLine>
      <RecordFormTabs
        key={trunkId}
        kind={kind}
        apiPath={`/v2/accounts/${account_id}/connectivity/${trunkId}`}
        schemaName="connectivity"
        groups={groups}
        own={own}
        record={data}
        revision={revision}
        save={(changes, more) => updateConnectivity({ ...api, ...more, path, body: { data: changes } })}
      />
    </Screen>
  )
}
