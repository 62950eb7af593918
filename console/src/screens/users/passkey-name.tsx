import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'

const longestName = 128

/** Asks what a passkey is called. */
export const PasskeyNameDialog = ({
  title,
  text,
  action,
  initial = '',
  busy,
  problem,
  onName,
  onClose,
}: {
  title: string
  text?: string
  action: string
  initial?: string
  busy: boolean
  /** Why it was not done. */
  problem?: string
  onName: (name: string) => void
  onClose: () => void
}) => {
  const { t } = useTranslation()
  const [name, setName] = useState(initial)
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ 'aria-label': t('close') }}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onName(name)
        }}
      >
        <Stack>
          {text && <Text size="sm">{text}</Text>}
          <TextInput
            label={t('users.passkeyName')}
            description={t('users.passkeyNameHelp')}
            maxLength={longestName}
            dir="auto"
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            error={problem}
            data-autofocus
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t('cancel')}
            </Button>
            <Button type="submit" loading={busy} disabled={name.trim() === ''}>
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
