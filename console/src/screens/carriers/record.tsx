import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { useTo } from '../../frame/place.tsx'
import { FailureNote } from '../../lib/failures.tsx'
import { DeleteButton } from '../../parts/delete-button.tsx'
import { RecordFormTabs } from '../../parts/record-form.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { groups, own } from './fields.tsx'
import { kind, type ScopeName, useCarrier, useScope } from './scope.ts'

/** One carrier. */
export const CarrierRecord = ({ scopeName }: { scopeName: ScopeName }) => {
  const { t } = useTranslation()
  const to = useTo()
  const { carrierId = '' } = useParams()
  const scope = useScope(scopeName)
  const found = useCarrier(scope, carrierId)
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { data, revision = '' } = found.data
  return (
    <Screen
      title={data.name}
      actions={
        <DeleteButton
          label={t('carriers.delete')}
          title={t('carriers.deleteTitle')}
          text={t(`carriers.deleteText.${scopeName}`, { name: data.name })}
          touches={[kind]}
          run={() => scope.remove(carrierId)}
          to={to(scope.screen)}
        />
      }
    >
      <RecordFormTabs
        key={carrierId}
        kind={kind}
        apiPath={`${scope.apiPath}/${carrierId}`}
        schemaName="resources"
        groups={groups}
        own={own}
        record={data}
        revision={revision}
        save={(changes, more) => scope.update(carrierId, changes, more)}
      />
    </Screen>
  )
}
