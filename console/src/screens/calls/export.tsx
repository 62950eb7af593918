import { createTask, listCdrs, startTask } from '@crosspoint/client'
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useTranslation } from 'react-i18next'
import { useLocation } from 'wouter'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useChange } from '../../lib/answers.ts'
import { api, crosspoint } from '../../lib/api.ts'
import { taskIn } from '../../lib/tasks.ts'
import { gregorianNow, offsetAt } from '../../lib/times.ts'
import { SaveButton } from '../../parts/save-button.tsx'
import type { CallFilters } from './filters.tsx'

/** What is on the screen as a file: now and here, or written by the server. */
export const Export = ({ filters }: { filters: CallFilters }) => {
  const { t } = useTranslation()
  const { accountId, timezone } = usePlace()
  const path = { account_id: accountId }
  const to = useTo()
  const [, go] = useLocation()
  const [opened, { open, close }] = useDisclosure(false)
  const name = `calls-${filters.days.from}.csv`
  const utc_offset = String(offsetAt(gregorianNow(), timezone))
  const exporting = useChange({
    touches: ['task'],
    run: async () => {
      const data = { ...filters.window, utc_offset }
      const query = { category: 'cdrs', action: 'export' }
      const { id } = taskIn(await createTask({ ...api, path, query, body: { data } }))
      await startTask({ ...api, path: { ...path, task_id: id } })
      return id
    },
    done: (id) => go(to(`tasks/${id}`)),
  })
  const bytes = (signal: AbortSignal) =>
    crosspoint
      .csv(listCdrs, { path, query: { ...filters.window, filters: filters.filters, utc_offset }, signal })
      .bytes()
  return (
    <>
      <Button variant="default" onClick={open}>
        {t('calls.export.open')}
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        title={t('calls.export.title')}
        closeButtonProps={{ 'aria-label': t('close') }}
      >
        <Stack>
          <Text size="sm">{t('calls.export.now')}</Text>
          <Group>
            <SaveButton name={name} open={bytes}>
              {t('calls.export.save')}
            </SaveButton>
          </Group>
          <Text size="sm">{t('calls.export.later')}</Text>
          <Group>
            <Button
              variant="default"
              loading={exporting.isPending}
              onClick={() => exporting.mutate(undefined)}
            >
              {t('calls.export.task')}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  )
}
