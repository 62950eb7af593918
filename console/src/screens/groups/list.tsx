import { listGroups } from '@crosspoint/client'
import { SearchX, Users } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { filtered, listOf } from '../../lib/list-source.ts'
import { Empty } from '../../parts/empty.tsx'
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
  const { accountId, isPlainUser } = usePlace()
  const to = useTo()
  const [text, setText] = useState('')
  const add = !isPlainUser && <ButtonToScreen to={to('groups/new')}>{t('groups.new')}</ButtonToScreen>
  return (
    <Screen title={t('screens.groups')} actions={add}>
      <SearchBox label={t('groups.search')} onSearch={setText} />
      <RowList<GroupRow>
        label={t('screens.groups')}
        queryKey={['group', accountId, text]}
        list={filtered<GroupRow>(
          listOf(listGroups, { path: { account_id: accountId } }),
          text,
          ({ name }) => [name],
        )}
        order={{ by: 'name', descending: false }}
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
            <Empty
              Icon={Users}
              text={t('groups.empty')}
              next={!isPlainUser && { to: to('groups/new'), label: t('groups.new') }}
            />
          ) : (
            <Empty Icon={SearchX} text={t('groups.noneFound')} />
          )
        }
      />
    </Screen>
  )
}
