import { CrosspointError } from '@crosspoint/client'
import { Alert, Badge, Button, Group, Modal, Stack, Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { describeFailure } from '../../lib/failures.tsx'
import { isObject } from '../../lib/json.ts'
import { StateBadge } from './states.tsx'

/** The result for one of several numbers. */
export interface NumberResult {
  number: string
  /** Its state now; undefined: nothing was done. */
  state?: string
  isGone?: boolean
  isPending?: boolean
  refusal?: string
}

const textIn = (value: unknown, key: string) => {
  const text = isObject(value) ? value[key] : undefined
  return typeof text === 'string' ? text : undefined
}

const refusalIn = (error: unknown) =>
  [textIn(error, 'message') ?? textIn(error, 'error'), textIn(error, 'cause')].filter(Boolean).join(': ')

const isSet = (holder: unknown, key: string) => isObject(holder) && holder[key] === true

/** The results of a collection, refusals first: there is something to do about these. */
export const resultsOf = (outcome: { success: object; error: object }): NumberResult[] => [
  ...(Array.isArray(outcome.error)
    ? []
    : Object.entries(outcome.error).map(([number, error]) => ({ number, refusal: refusalIn(error) }))),
  ...Object.entries(outcome.success).map(([number, found]) => ({
    number,
    state: textIn(found, 'state'),
    isGone: isSet(isObject(found) ? found._read_only : undefined, 'deleted'),
    isPending: isSet(isObject(found) ? found._read_only : undefined, 'pending'),
  })),
]

/** The result for one number whose own request was refused. */
export const refusedResult = (number: string, error: unknown): NumberResult => {
  const { title, lines } = describeFailure(error)
  const said = error instanceof CrosspointError ? lines : [title, ...lines]
  return { number, refusal: said.join('; ') }
}

const ResultCell = ({ result }: { result: NumberResult }) => {
  const { t } = useTranslation()
  if (result.refusal !== undefined) {
    return (
      <Group gap="xs">
        <Badge color="red">{t('numbers.refused')}</Badge>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {result.refusal}
        </Text>
      </Group>
    )
  }
  if (result.isGone) return <Badge color="gray">{t('numbers.gone')}</Badge>
  return (
    <Group gap="xs">
      {result.state && <StateBadge state={result.state} />}
      {result.isPending && <Badge color="orange">{t('numbers.pending')}</Badge>}
    </Group>
  )
}

/** The result for each of several numbers. */
export const OutcomeDialog = ({
  results,
  onClose,
}: {
  results: readonly NumberResult[] | undefined
  onClose: () => void
}) => {
  const { t } = useTranslation()
  const refused = results?.filter(({ refusal }) => refusal !== undefined).length ?? 0
  const done = (results?.length ?? 0) - refused
  return (
    <Modal
      opened={results !== undefined}
      onClose={onClose}
      size="lg"
      title={t('numbers.outcome')}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <Stack>
        <Alert color={refused > 0 ? 'orange' : 'green'}>
          {t('numbers.outcomeDone', { count: done })}{' '}
          {refused > 0 && t('numbers.outcomeRefused', { count: refused })}
        </Alert>
        <Table aria-label={t('numbers.outcome')}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('numbers.number')}</Table.Th>
              <Table.Th>{t('numbers.result')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {results?.map((result) => (
              <Table.Tr key={result.number}>
                <Table.Td>{result.number}</Table.Td>
                <Table.Td>
                  <ResultCell result={result} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
        <Group justify="flex-end">
          <Button onClick={onClose} data-autofocus>
            {t('close')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
