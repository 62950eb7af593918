import { getAuditEntry } from '@crosspoint/client'
import { Code, Stack, Table, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useParams } from 'wouter'
import { usePlace } from '../../frame/place.tsx'
import { type ActorFacts, useActorName } from '../../lib/actors.ts'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { showTime } from '../../lib/times.ts'
import { FactTable } from '../../parts/fact-table.tsx'
import { labelOf } from '../../parts/fields.tsx'
import { Loading, Screen } from '../../parts/screen.tsx'
import { useKindName } from './sentences.ts'

const Who = ({ actor }: { actor: ActorFacts }) => useActorName(actor)

const shown = (value: unknown) =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)

/** One change: each field before and after, and where it came from. */
export const AuditEntry = () => {
  const { t } = useTranslation()
  const { accountId, timezone } = usePlace()
  const { entryId = '' } = useParams()
  const kindName = useKindName()
  const path = { account_id: accountId, entry_id: entryId }
  const found = useAnswer(['audit', accountId, entryId], (signal) => getAuditEntry({ ...api, path, signal }))
  if (found.error && !found.data) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return <Loading />
  const { at, actor, action, record, changes, request_id, digest, previous_digest } = found.data.data
  const facts = [
    [t('events.who'), <Who key="who" actor={actor} />],
    [t('events.when'), showTime(at, timezone)],
    [t('events.address'), actor.client_address ?? ''],
    [t('events.request'), <Code key="request">{request_id}</Code>],
    [t('events.digest'), <Code key="digest">{digest}</Code>],
    [t('events.previousDigest'), <Code key="previous">{previous_digest ?? t('events.firstEntry')}</Code>],
  ] as const
  return (
    <Screen title={`${t(`history.${action}`)}: ${kindName(record.kind)} ${record.name}`}>
      <FactTable label={t('events.facts')} facts={facts} />
      <Stack gap={4}>
        <Table aria-label={t('events.changes')} layout="fixed">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('stale.field')}</Table.Th>
              <Table.Th>{t('events.before')}</Table.Th>
              <Table.Th>{t('events.after')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {changes.map(({ path: changed, from, to }) => (
              <Table.Tr key={changed}>
                <Table.Th scope="row" style={{ overflowWrap: 'anywhere' }}>
                  {labelOf(changed)}
                  <Text size="xs" c="dimmed">
                    {changed}
                  </Text>
                </Table.Th>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>{shown(from)}</Table.Td>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>{shown(to)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Stack>
    </Screen>
  )
}
