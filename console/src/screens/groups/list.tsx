import { listGroups } from '@crosspoint/client'
import { Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { api } from '../../lib/api.ts'
import { filtered } from '../../lib/pages.ts'
import { ButtonToScreen, ToScreen } from '../../parts/link.tsx'
import { RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'
import { SearchBox } from '../../parts/search-box.tsx'

interface GroupRow {
  id: string
  name: string
  endpoints: number
}

/** The groups of an account. */
export const GroupList = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const [text, setText] = useState('')
  const add = <ButtonToScreen to={to('groups/new')}>{t('groups.new')}</ButtonToScreen>
  return (
    <Screen title={t('screens.groups')} actions={add}>
      <SearchBox label={t('groups.search')} onSearch={setText} />
      <RowList<GroupRow>
        label={t('screens.groups')}
        queryKey={['group', accountId, text]}
        read={filtered(
          text,
          ({ name }) => [name],
          (start_key, signal) => {
            const query = { start_key, descending: false }
            return listGroups({ ...api, path: { account_id: accountId }, query, signal })
          },
        )}
        columns={[
          {
            id: 'name',
            title: t('groups.name'),
            show: ({ id, name }) => (
              <ToScreen to={to(`groups/${id}`)}>
                <bdi>{name}</bdi>
              </ToScreen>
            ),
          },
          { id: 'members', title: t('groups.members'), isNumber: true, show: ({ endpoints }) => endpoints },
        ]}
        rowKey={({ id }) => id}
        empty={
          text === '' ? (
            <Stack align="flex-start">
              <Text>{t('groups.empty')}</Text>
              {add}
            </Stack>
          ) : (
            <Text>{t('groups.noneFound')}</Text>
          )
        }
      />
    </Screen>
  )
}
