import { deleteUser } from '@crosspoint/client'
import { Checkbox } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { api } from '../../lib/api.ts'
import { DeleteButton } from '../../parts/delete-button.tsx'

export const DeleteUser = ({ userId, name }: { userId: string; name: string }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const [withPhones, setWithPhones] = useState(false)
  return (
    <DeleteButton
      title={t('users.deleteTitle')}
      text={t('users.deleteText', { name })}
      touches={['user', 'device']}
      run={() =>
        deleteUser({
          ...api,
          path: { account_id: accountId, user_id: userId },
          query: withPhones ? { object_types: '["device"]' } : {},
        })
      }
      to={to('users')}
    >
      <Checkbox
        label={t('users.deletePhones')}
        checked={withPhones}
        onChange={({ currentTarget: { checked } }) => setWithPhones(checked)}
      />
    </DeleteButton>
  )
}
