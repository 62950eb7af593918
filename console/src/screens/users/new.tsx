import { createUser } from '@crosspoint/client'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { api } from '../../lib/api.ts'
import type { JsonObject } from '../../lib/json.ts'
import { NewRecord } from '../../parts/new-record.tsx'
import { Screen } from '../../parts/screen.tsx'
import { newGroups, own } from './fields.tsx'

export const NewUser = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const create = ({ way_in, password, ...record }: JsonObject) =>
    createUser({
      ...api,
      path: { account_id: accountId },
      query: { send_email_on_creation: way_in === 'link' },
      body: {
        data: {
          first_name: '',
          last_name: '',
          ...record,
          ...(way_in === 'password' ? { password: typeof password === 'string' ? password : '' } : {}),
        },
      },
    })
  return (
    <Screen title={t('users.new')}>
      <NewRecord
        kind="user"
        schemaName="users"
        groups={newGroups}
        own={own}
        initial={{ way_in: 'link' }}
        create={create}
        to={(id) => to(`users/${id}`)}
      />
    </Screen>
  )
}
