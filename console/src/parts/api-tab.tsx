import { Badge, Button, Code, CopyButton, Group, ScrollArea, Stack, Text } from '@mantine/core'
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

const CopyLine = ({ text }: { text: string }) => {
  const { t } = useTranslation()
  return (
    <Stack gap={4}>
      <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {text}
      </Code>
      <Group>
        <CopyButton value={text}>
          {({ copied, copy }) => (
            <Button size="compact-sm" variant="default" onClick={copy}>
              {copied ? t('copied') : t('copy')}
            </Button>
          )}
        </CopyButton>
      </Group>
    </Stack>
  )
}

const Shown = ({ exchange }: { exchange: Exchange }) => (
  <Stack gap="xs">
    <Group gap="xs">
      <Badge variant="default">{exchange.method}</Badge>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {exchange.path}
      </Text>
      {exchange.status !== undefined && (
        <Badge color={exchange.status < 400 ? 'green.9' : 'red.9'}>{exchange.status}</Badge>
      )}
    </Group>
    <CopyLine text={curlOf(exchange)} />
    {exchange.answer !== undefined && (
      <ScrollArea.Autosize mah={360} type="auto" viewportProps={{ tabIndex: 0 }}>
        <Code block>{pretty(exchange.answer)}</Code>
      </ScrollArea.Autosize>
    )}
  </Stack>
)

const reading = { method: 'GET', body: undefined, contentType: undefined, accept: undefined }

/** The requests that made what is on the screen: the latest ones whose path begins like this, or like one of these. */
export const ApiTab = ({ path, most = 3 }: { path: string | readonly string[]; most?: number }) => {
  const { t } = useTranslation()
  const exchanges = useSyncExternalStore(journal.subscribe, journal.read)
  const paths = typeof path === 'string' ? [path] : path
  const isOfThese = (asked: string) => paths.some((one) => asked.startsWith(one))
  const found = exchanges.filter((one) => isOfThese(one.path)).slice(0, most)
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        {t('api.explanation')}
      </Text>
      {found.length === 0 &&
        paths.map((one) => <CopyLine key={one} text={curlOf({ ...reading, path: one })} />)}
      {found.map((exchange) => (
        <Shown key={exchange.id} exchange={exchange} />
      ))}
    </Stack>
  )
}
