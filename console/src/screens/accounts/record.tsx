import { getAccount, updateAccount } from '@crosspoint/client'
import { Badge, Group } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { useTo } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { ButtonToScreen } from '../../parts/link.tsx'
import { RecordFormTabs } from '../../parts/record-form.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { AccountActions } from './actions.tsx'
import { groups, own } from './fields.tsx'

/** One account: the one that is open, or one below it. */
export const AccountRecord = () => {
  const { t } = useTranslation()
  const { childId = '' } = useParams()
  const to = useTo()
  const path = { account_id: childId }
  const found = useAnswer(['account', childId], (signal) => getAccount({ ...api, path, signal }))
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { data, revision = '' } = found.data
  return (
    <Screen
      title={data.name}
      actions={
        <>
          <ButtonToScreen to={`/a/${childId}/overview`}>{t('accounts.actFor')}</ButtonToScreen>
          <ButtonToScreen to={to(`accounts/new/${childId}/admin`)} variant="default">
            {t('accounts.wizard.resume')}
          </ButtonToScreen>
          <AccountActions account={data} />
        </>
      }
    >
      {(data.is_reseller || data.enabled === false) && (
        <Group gap="xs">
          {data.is_reseller && <Badge color="blue">{t('accounts.reseller')}</Badge>}
          {data.enabled === false && <Badge color="red">{t('frame.disabled')}</Badge>}
        </Group>
      )}
      <RecordFormTabs
        key={childId}
        kind="account"
        apiPath={`/v2/accounts/${childId}`}
        schemaName="accounts"
        groups={groups}
        own={own}
        record={data}
        revision={revision}
        save={(changes, more) => updateAccount({ ...api, ...more, path, body: { data: changes } })}
      />
    </Screen>
  )
}
