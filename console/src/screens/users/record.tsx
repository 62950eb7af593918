import { getUser, updateUser } from '@crosspoint/client'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { RecordFormTabs } from '../../parts/record-form.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { DeleteUser } from './delete.tsx'
import { DevicesTab } from './devices-tab.tsx'
import { groups, own } from './fields.tsx'
import { nameOf } from './names.ts'
import { PhotoTab } from './photo-tab.tsx'
import { SignInTab } from './sign-in-tab.tsx'

/** One person. */
export const UserRecord = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const { userId = '' } = useParams()
  const path = { account_id: accountId, user_id: userId }
  const found = useAnswer(['user', accountId, userId], (signal) => getUser({ ...api, path, signal }))
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { data, revision = '' } = found.data
  const name = nameOf(data)
  const { username, email } = data
  return (
    <Screen title={name} actions={<DeleteUser userId={userId} name={name} />}>
      <RecordFormTabs
        key={userId}
        kind="user"
        apiPath={`/v2/accounts/${accountId}/users/${userId}`}
        schemaName="users"
        groups={groups}
        own={own}
        record={data}
        revision={revision}
        save={(changes, more) => updateUser({ ...api, ...more, path, body: { data: changes } })}
        tabs={[
          { id: 'devices', title: t('users.phones'), show: () => <DevicesTab userId={userId} /> },
          {
            id: 'photo',
            title: t('users.photo'),
            show: () => <PhotoTab userId={userId} name={name} has={data.has_avatar === true} />,
          },
          {
            id: 'sign-in',
            title: t('users.signIn'),
            show: () => <SignInTab user={{ userId, name, username, email }} />,
          },
        ]}
      />
    </Screen>
  )
}
