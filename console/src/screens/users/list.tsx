import { listUsers, searchByFields } from '@crosspoint/client'
import { Badge, Group } from '@mantine/core'
import { SearchX, Users } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { api } from '../../lib/api.ts'
import { isObject } from '../../lib/json.ts'
import { listOf } from '../../lib/list-source.ts'
import { Empty } from '../../parts/empty.tsx'
import { ButtonToScreen, ToScreen } from '../../parts/link.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'
import { SearchBox } from '../../parts/search-box.tsx'
import { nameOf } from './names.ts'

/** What a list and a search tell of a user. */
interface UserRow {
  id: string
  first_name?: string
  last_name?: string
  username?: string
  email?: string
  priv_level?: string
  features?: readonly string[]
}

const useColumns = (): readonly Column<UserRow>[] => {
  const { t } = useTranslation()
  const to = useTo()
  return [
    {
      id: 'name',
      title: t('users.name'),
      show: (user) => (
        <ToScreen to={to(`users/${user.id}`)}>
          <bdi>{nameOf(user)}</bdi>
        </ToScreen>
      ),
    },
    { id: 'username', title: t('users.username'), show: ({ username }) => username },
    { id: 'email', title: t('users.email'), isExtra: true, show: ({ email }) => email },
    {
      id: 'level',
      title: t('users.may'),
      show: ({ priv_level }) => (
        <Badge color={priv_level === 'admin' ? 'blue' : 'gray'}>
          {t(priv_level === 'admin' ? 'users.level.admin' : 'users.level.user')}
        </Badge>
      ),
    },
    {
      id: 'features',
      title: t('users.features'),
      isExtra: true,
      show: ({ features = [] }) => (
        <Group gap={4} wrap="nowrap">
          {features.map((feature) => (
            <Badge key={feature} variant="default">
              {t(`users.feature.${feature}`, { defaultValue: feature })}
            </Badge>
          ))}
        </Group>
      ),
    },
  ]
}

const isRow = (value: unknown): value is UserRow => isObject(value) && typeof value.id === 'string'

/** Those whose name or user name begins like this, each once. */
const found = (byField: Readonly<Record<string, readonly unknown[]>>) => {
  const rows = Object.values(byField).flat().filter(isRow)
  return [...new Map(rows.map((row) => [row.id, row])).values()]
}

/** The people of an account. */
export const UserList = () => {
  const { t } = useTranslation()
  const { accountId, isPlainUser } = usePlace()
  const path = { account_id: accountId }
  const to = useTo()
  const columns = useColumns()
  const [text, setText] = useState('')
  const search = async (_startKey: string | undefined, signal: AbortSignal) => {
    const query = { t: 'user', by_name: text, by_username: text }
    const { data } = await searchByFields({ ...api, path, query, signal })
    return { data: found(data) }
  }
  return (
    <Screen
      title={t('screens.users')}
      actions={!isPlainUser && <ButtonToScreen to={to('users/new')}>{t('users.new')}</ButtonToScreen>}
    >
      <SearchBox label={t('users.search')} onSearch={setText} />
      <RowList<UserRow>
        label={t('screens.users')}
        queryKey={['user', accountId, 'list', text]}
        {...(text === ''
          ? { list: listOf(listUsers, { path }), order: { by: 'name', descending: false } }
          : { read: search })}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          text === '' ? (
            <Empty
              Icon={Users}
              text={t('users.empty')}
              next={!isPlainUser && { to: to('users/new'), label: t('users.new') }}
            />
          ) : (
            <Empty Icon={SearchX} text={t('users.noneFound')} />
          )
        }
      />
    </Screen>
  )
}
