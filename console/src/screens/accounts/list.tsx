import { type AccountRow, listChildren } from '@crosspoint/client'
import { Card, Tabs } from '@mantine/core'
import { Building2 } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { showNumber } from '../../lib/amounts.ts'
import { listOf } from '../../lib/list-source.ts'
import { Empty } from '../../parts/empty.tsx'
import { ButtonToScreen, ToScreen } from '../../parts/link.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'
import { SearchBox } from '../../parts/search-box.tsx'
import { FoundAccounts } from './found.tsx'
import { AccountTree } from './tree.tsx'

const useColumns = (): readonly Column<AccountRow>[] => {
  const { t } = useTranslation()
  const to = useTo()
  return [
    {
      id: 'name',
      title: t('accounts.name'),
      show: ({ id, name }) => (
        <bdi>
          <ToScreen to={to(`accounts/${id}`)}>{name}</ToScreen>
        </bdi>
      ),
    },
    { id: 'realm', title: t('accounts.realm'), isExtra: true, show: ({ realm }) => realm },
    {
      id: 'below',
      title: t('accounts.below'),
      isNumber: true,
      show: ({ descendants_count = 0 }) => showNumber(descendants_count),
    },
  ]
}

/** Those directly below, however many there are. */
const ChildList = () => {
  const { t } = useTranslation()
  const { accountId, isPlainUser } = usePlace()
  const to = useTo()
  const columns = useColumns()
  return (
    <RowList
      label={t('screens.accounts')}
      queryKey={['account', accountId, 'children_list']}
      list={listOf(listChildren, { path: { account_id: accountId } })}
      order={{ by: 'name', descending: false }}
      columns={columns}
      rowKey={({ id }) => id}
      empty={
        <Empty
          Icon={Building2}
          text={t('accounts.empty')}
          next={!isPlainUser && { to: to('accounts/new'), label: t('accounts.new') }}
        />
      }
    />
  )
}

/** The accounts below the one that is open. */
export const AccountList = () => {
  const { t } = useTranslation()
  const { isPlainUser } = usePlace()
  const to = useTo()
  const [text, setText] = useState('')
  const [view, setView] = useState('tree')
  return (
    <Screen
      title={t('screens.accounts')}
      actions={!isPlainUser && <ButtonToScreen to={to('accounts/new')}>{t('accounts.new')}</ButtonToScreen>}
    >
      <SearchBox label={t('accounts.search')} onSearch={setText} />
      {text !== '' ? (
        <FoundAccounts text={text} />
      ) : (
        <Tabs value={view} onChange={(chosen) => setView(chosen ?? 'tree')} keepMounted={false}>
          <Tabs.List mb="sm">
            <Tabs.Tab value="tree">{t('accounts.tree')}</Tabs.Tab>
            <Tabs.Tab value="list">{t('accounts.list')}</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="tree">
            <Card>
              <AccountTree />
            </Card>
          </Tabs.Panel>
          <Tabs.Panel value="list">
            <ChildList />
          </Tabs.Panel>
        </Tabs>
      )}
    </Screen>
  )
}
