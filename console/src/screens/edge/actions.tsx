import { Button, Group } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useTranslation } from 'react-i18next'
import { Confirm } from '../../parts/confirm.tsx'
import { StaleDialog } from '../../parts/stale-dialog.tsx'
import type { useEditing } from './kept.ts'

/** Below a form of what is kept: save it, take back what was typed, remove it. */
export const Actions = ({
  editing: { form, base, busy, remove, stale },
  removal,
}: {
  editing: ReturnType<typeof useEditing>
  removal: { action: string; title: string; text: string }
}) => {
  const { t } = useTranslation()
  const [opened, { open, close }] = useDisclosure(false)
  const isKept = Object.keys(base.record).length > 0
  return (
    <Group>
      <Button type="submit" loading={busy} disabled={!form.isDirty()}>
        {t('save')}
      </Button>
      <Button variant="default" disabled={!form.isDirty()} onClick={() => form.reset()}>
        {t('discard')}
      </Button>
      {isKept && (
        <Button variant="default" onClick={open}>
          {removal.action}
        </Button>
      )}
      <Confirm
        {...removal}
        opened={opened}
        onConfirm={() => {
          close()
          remove()
        }}
        onClose={close}
      />
      {stale && <StaleDialog {...stale} />}
    </Group>
  )
}
