import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'

/** Asks before something is done that cannot be taken back. */
export const Confirm = ({
  opened,
  title,
  text,
  action,
  isDangerous = true,
  busy = false,
  onConfirm,
  onClose,
  children,
}: {
  opened: boolean
  title: string
  text: string
  action: string
  isDangerous?: boolean
  busy?: boolean
  onConfirm: () => void
  onClose: () => void
  /** Further options of the dialog. */
  children?: ReactNode
}) => {
  const { t } = useTranslation()
  return (
    <Modal opened={opened} onClose={onClose} title={title} closeButtonProps={{ 'aria-label': t('close') }}>
      <Stack>
        <Text style={{ overflowWrap: 'anywhere' }}>{text}</Text>
        {children}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            {t('cancel')}
          </Button>
          <Button color={isDangerous ? 'red' : undefined} loading={busy} onClick={onConfirm}>
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
