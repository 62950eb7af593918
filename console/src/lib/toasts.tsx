import { Button, Group, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import i18next from 'i18next'
import { toastMs } from './toast-times.ts'

/** What happened. With a way back where there is one. */
export const tellDone = (text: string, undo?: () => unknown) => {
  const id = notifications.show({
    color: 'green',
    message: (
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm">{text}</Text>
        {undo && (
          <Button
            size="compact-sm"
            variant="default"
            onClick={() => {
              notifications.hide(id)
              undo()
            }}
          >
            {i18next.t('undo')}
          </Button>
        )}
      </Group>
    ),
    autoClose: undo ? toastMs.withUndo : toastMs.plain,
    closeButtonProps: { 'aria-label': i18next.t('close') },
  })
}
