import { Badge, Button, Code, CopyButton, Group, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'

export type DnsState = 'unknown' | 'right' | 'missing' | 'wrong' | 'unanswered'

const colors: Readonly<Record<DnsState, string>> = {
  unknown: 'gray',
  right: 'green',
  missing: 'red',
  wrong: 'red',
  unanswered: 'gray',
}

/** The result of a DNS check for one record. */
export const stateOf = (
  check: { matches: boolean; actual: readonly string[]; error?: string } | undefined,
): DnsState => {
  if (!check) return 'unknown'
  if (check.matches) return 'right'
  if (check.error !== undefined) return 'unanswered'
  return check.actual.length === 0 ? 'missing' : 'wrong'
}

// A text in a zone file has at most 255 characters between its quotes.
const quoted = (text: string) =>
  (text.match(/.{1,255}/gs) ?? ['']).map((part) => `"${part.replace(/["\\]/g, '\\$&')}"`).join(' ')

const textOf = (type: string, value: string) => (type === 'TXT' ? quoted(value) : value)

interface DnsLineProps {
  type: string
  host: string
  expected: readonly string[]
  purpose?: string
  state: DnsState
  actual?: readonly string[]
  error?: string
}

/** One DNS record, ready to copy, with the value found in DNS. */
export const DnsLine = ({ type, host, expected, purpose, state, actual = [], error }: DnsLineProps) => {
  const { t } = useTranslation()
  const lines = expected.map((value) => `${host}. IN ${type} ${textOf(type, value)}`).join('\n')
  return (
    <Stack
      component="li"
      gap={4}
      py="sm"
      aria-label={`${type} ${host}`}
      style={{ borderBottom: '1px solid var(--mantine-color-default-border)' }}
    >
      <Group gap="xs">
        <Badge color={colors[state]}>{t(`brand.dns.${state}`)}</Badge>
        <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
          {type} {host}
        </Text>
        {purpose && (
          <Text size="xs" c="dimmed" dir="auto">
            {purpose}
          </Text>
        )}
      </Group>
      <Group gap="xs" wrap="nowrap" align="start">
        <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere', flex: 1 }}>
          {lines}
        </Code>
        <CopyButton value={lines}>
          {({ copied, copy }) => (
            <Button
              size="compact-sm"
              variant="default"
              onClick={copy}
              // The name of a button contains the text that it shows.
              aria-label={copied ? undefined : t('brand.dns.copyLine', { type, host })}
            >
              {copied ? t('copied') : t('copy')}
            </Button>
          )}
        </CopyButton>
      </Group>
      {state === 'wrong' && (
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {t('brand.dns.found')} <Code>{actual.join(', ')}</Code>
        </Text>
      )}
      {error !== undefined && <Text size="sm">{error}</Text>}
    </Stack>
  )
}

/** Says when DNS was looked at, and looks again. */
export const CheckBar = ({
  dns,
  showClock,
}: {
  dns: { check: () => void; isChecking: boolean; checkedAt: Date | undefined }
  showClock: (at: Date) => string
}) => {
  const { t } = useTranslation()
  return (
    <Group>
      <Button onClick={dns.check} loading={dns.isChecking}>
        {t('brand.dns.check')}
      </Button>
      <Text size="sm" role="status">
        {dns.checkedAt
          ? t('brand.dns.checkedAt', { time: showClock(dns.checkedAt) })
          : t('brand.dns.notChecked')}
      </Text>
    </Group>
  )
}
