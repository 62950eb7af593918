import { CrosspointError, Unreachable } from '@crosspoint/client'
import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import i18next from 'i18next'
import { CircleAlert } from 'lucide-react'
import { useTranslation } from 'react-i18next'

interface Told {
  title: string
  lines: readonly string[]
  requestId: string | undefined
}

const isAborted = (error: unknown) => error instanceof DOMException && error.name === 'AbortError'

/** In words for a person: what went wrong, the fields that it is about, and the id to quote. */
export const describeFailure = (error: unknown): Told => {
  const t = i18next.t
  if (error instanceof Unreachable)
    return { title: t('failure.unreachable'), lines: [], requestId: undefined }
  if (!(error instanceof CrosspointError)) {
    return {
      title: t('failure.unexpected'),
      lines: [error instanceof Error ? error.message : ''],
      requestId: undefined,
    }
  }
  const title = t(`failure.status.${error.status}`, { defaultValue: t('failure.refused') })
  const problems = error.problems.map(({ field, message }) => `${field}: ${message}`)
  return { title, lines: problems.length > 0 ? problems : [error.message], requestId: error.requestId }
}

const Lines = ({ lines, requestId }: Omit<Told, 'title'>) => {
  const { t } = useTranslation()
  return (
    <Stack gap={4}>
      {lines.map((line) => (
        <Text key={line} size="sm" c="var(--mantine-color-text)" style={{ overflowWrap: 'anywhere' }}>
          {line}
        </Text>
      ))}
      {requestId && (
        <Text size="xs" c="var(--mantine-color-text)">
          {t('failure.requestId')} <Code c="var(--mantine-color-text)">{requestId}</Code>
        </Text>
      )}
    </Stack>
  )
}

/** A toast that stays until it is read. */
export const tellFailure = (error: unknown) => {
  if (isAborted(error)) return
  const { title, lines, requestId } = describeFailure(error)
  notifications.show({
    color: 'red',
    title,
    message: <Lines lines={lines} requestId={requestId} />,
    autoClose: false,
    withCloseButton: true,
    closeButtonProps: { 'aria-label': i18next.t('close') },
  })
}

/** Shown instead of data that could not be read. */
export const FailureNote = ({ error, again }: { error: unknown; again?: () => unknown }) => {
  const { t } = useTranslation()
  const { title, lines, requestId } = describeFailure(error)
  return (
    <Alert color="red" icon={<CircleAlert aria-hidden />} title={title} role="alert">
      <Lines lines={lines} requestId={requestId} />
      {again && (
        <Group mt="sm">
          <Button size="xs" variant="default" onClick={() => again()}>
            {t('again')}
          </Button>
        </Group>
      )}
    </Alert>
  )
}
