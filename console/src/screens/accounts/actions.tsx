import {
  type AccountRecord,
  deleteAccount,
  demoteReseller,
  promoteToReseller,
  updateAccount,
} from '@crosspoint/client'
import { Button, Menu } from '@mantine/core'
import { ChevronDown } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useLocation } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useChange } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { DeleteAccount } from './delete.tsx'
import { MoveAccount } from './move.tsx'

interface OfAccount {
  account: AccountRecord
}

/** Disables or enables an account. */
const useEnabling = ({ id }: AccountRecord) => {
  const { t } = useTranslation()
  const changing = useChange({
    touches: ['account'],
    run: (enabled: boolean) =>
      updateAccount({ ...api, path: { account_id: id }, body: { data: { enabled } } }),
    done: (_, enabled) =>
      tellDone(t(enabled ? 'accounts.enabled' : 'accounts.disabled'), () => changing.mutate(!enabled)),
  })
  return changing
}

const useResale = ({ id }: AccountRecord, onDone: () => void) => {
  const { t } = useTranslation()
  const path = { account_id: id }
  return useChange({
    touches: ['account'],
    run: (isReseller: boolean) =>
      isReseller ? promoteToReseller({ ...api, path }) : demoteReseller({ ...api, path }),
    done: (_, isReseller) => {
      onDone()
      tellDone(t(isReseller ? 'accounts.promoted' : 'accounts.demoted'))
    },
  })
}

/** Deletes it, and goes back to the list. */
const useDeleting = ({ id }: AccountRecord) => {
  const { t } = useTranslation()
  const to = useTo()
  const [, go] = useLocation()
  return useChange({
    touches: ['account'],
    run: () => deleteAccount({ ...api, path: { account_id: id } }),
    done: () => {
      tellDone(t('deleted'))
      go(to('accounts'))
    },
  })
}

/** Actions on an account below the caller's own one. */
export const AccountActions = ({ account }: OfAccount) => {
  const { t } = useTranslation()
  const { actsForMaster } = usePlace()
  const [asked, setAsked] = useState<'resale' | 'move' | 'delete'>()
  const close = () => setAsked(undefined)
  const enabling = useEnabling(account)
  const resale = useResale(account, close)
  const deleting = useDeleting(account)
  if (account.id === crosspoint.session()?.accountId) return null
  const { name, is_reseller: isReseller = false, enabled } = account
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <Button variant="default" rightSection={<ChevronDown size={16} aria-hidden />}>
            {t('accounts.actions')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {actsForMaster && (
            <Menu.Item onClick={() => setAsked('resale')}>
              {t(isReseller ? 'accounts.demote' : 'accounts.promote')}
            </Menu.Item>
          )}
          <Menu.Item onClick={() => setAsked('move')}>{t('accounts.move')}</Menu.Item>
          <Menu.Item onClick={() => enabling.mutate(enabled === false)}>
            {t(enabled === false ? 'accounts.enable' : 'accounts.disable')}
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item color="red.9" onClick={() => setAsked('delete')}>
            {t('delete')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Confirm
        opened={asked === 'resale'}
        title={t(isReseller ? 'accounts.demote' : 'accounts.promote')}
        text={t(isReseller ? 'accounts.demoteText' : 'accounts.promoteText', { name })}
        action={t(isReseller ? 'accounts.demote' : 'accounts.promote')}
        isDangerous={isReseller}
        busy={resale.isPending}
        onConfirm={() => resale.mutate(!isReseller)}
        onClose={close}
      />
      <MoveAccount account={account} opened={asked === 'move'} onClose={close} />
      <DeleteAccount
        account={account}
        opened={asked === 'delete'}
        busy={deleting.isPending}
        onConfirm={() => deleting.mutate(undefined)}
        onClose={close}
      />
    </>
  )
}
