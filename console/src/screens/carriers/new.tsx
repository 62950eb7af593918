import { useTranslation } from 'react-i18next'
import { useTo } from '../../frame/place.tsx'
import { NewRecord } from '../../parts/new-record.tsx'
import { Screen } from '../../parts/screen.tsx'
import { groups, newGateway, own } from './fields.tsx'
import { kind, type ScopeName, useScope } from './scope.ts'

export const NewCarrier = ({ scopeName }: { scopeName: ScopeName }) => {
  const { t } = useTranslation()
  const to = useTo()
  const scope = useScope(scopeName)
  return (
    <Screen title={t('carriers.new')}>
      <NewRecord
        kind={kind}
        schemaName="resources"
        groups={groups}
        own={own}
        initial={{ gateways: [newGateway] }}
        create={scope.create}
        to={(id) => to(`${scope.screen}/${id}`)}
      />
    </Screen>
  )
}
