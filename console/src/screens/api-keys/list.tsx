import { listApiKeys, type NamedApiKeyRow } from '@crosspoint/client'
import { Badge } from '@mantine/core'
import { KeyRound } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { listOf } from '../../lib/list-source.ts'
import { gregorianNow, showDay, showTime } from '../../lib/times.ts'
import { Empty } from '../../parts/empty.tsx'
import { ButtonToScreen, ToScreen } from '../../parts/link.tsx'
import { type Column, RowList } from '../../parts/row-list.tsx'
import { Screen } from '../../parts/screen.tsx'
import { RenewAccountKey } from './renew-account-key.tsx'

/** The last day of a key. */
const Expiry = ({ expires }: Pick<NamedApiKeyRow, 'expires'>) => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  if (expires === undefined) return t('apiKeys.unlimited')
  if (expires <= gregorianNow()) return <Badge color="red">{t('apiKeys.expired')}</Badge>
  return showDay(expires - 1, timezone)
}

const useColumns = (): readonly Column<NamedApiKeyRow>[] => {
  const { t } = useTranslation()
  const { timezone } = usePlace()
  const to = useTo()
  return [
    {
      id: 'name',
      title: t('apiKeys.name'),
      show: ({ id, name }) => (
        <ToScreen to={to(`api-keys/${id}`)}>
          <bdi>{name}</bdi>
        </ToScreen>
      ),
    },
    {
      id: 'scopes',
      title: t('field.scopes'),
      isExtra: true,
      show: ({ scopes }) => (scopes.includes('*') ? t('apiKeys.areas.all') : scopes.join(', ')),
    },
    {
      id: 'networks',
      title: t('field.networks'),
      isWide: true,
      show: ({ networks }) => networks?.join(', ') ?? t('apiKeys.anyNetwork'),
    },
    { id: 'expires', title: t('field.expires'), show: (row) => <Expiry {...row} /> },
    {
      id: 'used',
      title: t('apiKeys.lastUsed'),
      isExtra: true,
      show: ({ last_used }) => (last_used === undefined ? t('apiKeys.never') : showTime(last_used, timezone)),
    },
  ]
}

/** The keys that programs of the account sign in with. */
export const ApiKeyList = () => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const columns = useColumns()
  return (
    <Screen
      title={t('apiKeys.title')}
      actions={
        <>
          <RenewAccountKey />
          <ButtonToScreen to={to('api-keys/new')}>{t('apiKeys.new')}</ButtonToScreen>
        </>
      }
    >
      <RowList
        label={t('apiKeys.title')}
        queryKey={['api_key', accountId]}
        list={listOf(listApiKeys, { path: { account_id: accountId } })}
        order={{ by: 'name', descending: false }}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          <Empty
            Icon={KeyRound}
            text={t('apiKeys.empty')}
            next={{ to: to('api-keys/new'), label: t('apiKeys.new') }}
          />
        }
      />
    </Screen>
  )
}
