import { Button, Code, Group, Modal, Stack, Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { differencesOf, type JsonObject, showJson } from '../lib/json.ts'
import { labelOf } from './fields.tsx'

// The server writes these: they differ whenever anything does.
const isOfServer = (path: string) => /^(modified|created|_read_only)\b/.test(path)

/** Two people changed one record: both versions, and the choice between them. Nothing is written over unseen. */
export const StaleDialog = ({
  mine,
  theirs,
  busy,
  onKeepMine,
  onTakeTheirs,
  onClose,
}: {
  mine: JsonObject
  theirs: JsonObject
  busy: boolean
  onKeepMine: () => void
  onTakeTheirs: () => void
  onClose: () => void
}) => {
  const { t } = useTranslation()
  const differences = differencesOf(mine, theirs).filter(({ path }) => !isOfServer(path))
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={t('stale.title')}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <Stack>
        <Text>{t('stale.text')}</Text>
        <Table aria-label={t('stale.title')}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('stale.field')}</Table.Th>
              <Table.Th>{t('stale.mine')}</Table.Th>
              <Table.Th>{t('stale.theirs')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {differences.map(({ path, one, other }) => (
              <Table.Tr key={path}>
                <Table.Td>
                  {labelOf(path)}
                  {path.split('.').length > 2 && (
                    <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                      {path}
                    </Text>
                  )}
                </Table.Td>
                <Table.Td>
                  <Code>{showJson(one)}</Code>
                </Table.Td>
                <Table.Td>
                  <Code>{showJson(other)}</Code>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
        <Group justify="flex-end">
          <Button variant="default" onClick={onTakeTheirs}>
            {t('stale.takeTheirs')}
          </Button>
          <Button loading={busy} onClick={onKeepMine}>
            {t('stale.keepMine')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
