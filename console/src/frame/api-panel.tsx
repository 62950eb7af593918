import {
  Accordion,
  Badge,
  Button,
  Code,
  CopyButton,
  Drawer,
  Group,
  ScrollArea,
  Stack,
  Text,
} from '@mantine/core'
import { useSyncExternalStore } from 'react'
import { useTranslation } from 'react-i18next'
import { curlOf, type Exchange, journal } from '../lib/journal.ts'

const pretty = (text: string) => {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}

const Request = ({ exchange }: { exchange: Exchange }) => {
  const { t } = useTranslation()
  const curl = curlOf(exchange)
  return (
    <Stack gap="xs">
      <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {curl}
      </Code>
      <CopyButton value={curl}>
        {({ copied, copy }) => (
          <Button size="compact-sm" variant="default" onClick={copy} style={{ alignSelf: 'flex-start' }}>
            {copied ? t('copied') : t('copy')}
          </Button>
        )}
      </CopyButton>
      {exchange.answer !== undefined && (
        <ScrollArea.Autosize mah={360} type="auto" viewportProps={{ tabIndex: 0 }}>
          <Code block>{pretty(exchange.answer)}</Code>
        </ScrollArea.Autosize>
      )}
    </Stack>
  )
}

const Line = ({ exchange: { method, path, status } }: { exchange: Exchange }) => (
  <Group gap="xs" wrap="nowrap">
    <Badge variant="default" style={{ flexShrink: 0 }}>
      {method}
    </Badge>
    <Text size="sm" ff="monospace" style={{ overflowWrap: 'anywhere', flex: 1 }}>
      {path}
    </Text>
    {status !== undefined && (
      <Badge color={status < 400 ? 'green' : 'red'} style={{ flexShrink: 0 }}>
        {status}
      </Badge>
    )}
  </Group>
)

/** The latest requests of the console, newest first, as curl commands with their responses. */
export const ApiPanel = ({ opened, onClose }: { opened: boolean; onClose: () => void }) => {
  const { t } = useTranslation()
  const exchanges = useSyncExternalStore(journal.subscribe, journal.read)
  return (
    <Drawer
      opened={opened}
      onClose={onClose}
      position="right"
      size="40rem"
      title={t('api.title')}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <Stack>
        <Text size="sm" c="dimmed">
          {t('api.explanation')}
        </Text>
        <Accordion multiple variant="separated">
          {exchanges.map((exchange) => (
            <Accordion.Item key={exchange.id} value={String(exchange.id)}>
              <Accordion.Control>
                <Line exchange={exchange} />
              </Accordion.Control>
              <Accordion.Panel>
                <Request exchange={exchange} />
              </Accordion.Panel>
            </Accordion.Item>
          ))}
        </Accordion>
      </Stack>
    </Drawer>
  )
}
