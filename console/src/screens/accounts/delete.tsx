import type { AccountRecord } from '@crosspoint/client'
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'

interface Asked {
  account: AccountRecord
  opened: boolean
  busy: boolean
  onConfirm: () => void
  onClose: () => void
}

/** Asks for the name: what goes with an account does not come back. One with others below it stays. */
export const DeleteAccount = ({ account, opened, busy, onConfirm, onClose }: Asked) => {
  const { t } = useTranslation()
  const [typed, setTyped] = useState('')
  const { name, descendants_count: below = 0 } = account
  const close = () => {
    setTyped('')
    onClose()
  }
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={t('accounts.deleteTitle')}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onConfirm()
        }}
      >
        <Stack>
          <Text style={{ overflowWrap: 'anywhere' }}>{t('accounts.deleteText', { name })}</Text>
          <Text fw={600}>
            {below > 0 ? t('accounts.deleteBelow', { count: below }) : t('accounts.deleteNone')}
          </Text>
          {below === 0 && (
            <TextInput
              label={t('accounts.typeName', { name })}
              labelProps={{ style: { overflowWrap: 'anywhere' } }}
              value={typed}
              onChange={({ currentTarget }) => setTyped(currentTarget.value)}
              autoComplete="off"
              dir="auto"
              data-autofocus
            />
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t('cancel')}
            </Button>
            {below === 0 && (
              <Button type="submit" color="red" loading={busy} disabled={typed.trim() !== name.trim()}>
                {t('delete')}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
