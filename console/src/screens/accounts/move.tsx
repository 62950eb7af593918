import { type AccountRecord, moveAccount } from '@crosspoint/client'
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useLocation } from 'wouter'
import { useChange } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { tellDone } from '../../lib/toasts.tsx'
import { AccountSelect } from './account-select.tsx'

/** Puts an account under another one, after saying what that means. */
export const MoveAccount = ({
  account,
  opened,
  onClose,
}: {
  account: AccountRecord
  opened: boolean
  onClose: () => void
}) => {
  const { t } = useTranslation()
  const [, go] = useLocation()
  const [target, setTarget] = useState<string | null>(null)
  const { id, name, descendants_count: below = 0 } = account
  const moving = useChange({
    touches: ['account'],
    run: (to: string) => moveAccount({ ...api, path: { account_id: id }, body: { data: { to } } }),
    done: (_, to) => {
      onClose()
      tellDone(t('accounts.moved'))
      // The old path no longer finds it.
      go(`/a/${to}/accounts/${id}`)
    },
  })
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('accounts.moveTitle', { name })}
      styles={{ title: { overflowWrap: 'anywhere' } }}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (target !== null) moving.mutate(target)
        }}
      >
        <Stack>
          <AccountSelect
            label={t('accounts.moveTo')}
            description={t('accounts.moveHelp')}
            value={target}
            except={[id]}
            onChange={setTarget}
          />
          <Text>{t('accounts.moveText', { count: below })}</Text>
          <Text size="sm">{t('accounts.moveMeans')}</Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t('cancel')}
            </Button>
            <Button type="submit" disabled={target === null} loading={moving.isPending}>
              {t('accounts.move')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
