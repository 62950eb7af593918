import { listCallflows } from '@crosspoint/client'
import { Group, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { usePlace, useTo } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'
import { FailureNote } from '../../lib/failures.tsx'
import { ButtonToScreen, ToScreen } from '../../parts/link.tsx'
import { Titled } from '../../parts/titled.tsx'

/** The callflows of a group, and the numbers that they take. */
export const GroupCallflows = ({ groupId }: { groupId: string }) => {
  const { t } = useTranslation()
  const { accountId } = usePlace()
  const to = useTo()
  const query = { paginate: false, descending: false, filters: { filter_group_id: groupId } }
  const found = useAnswer(['callflow', accountId, 'of group', groupId], (signal) =>
    listCallflows({ ...api, path: { account_id: accountId }, query, signal }),
  )
  if (found.error) return <FailureNote error={found.error} again={found.refetch} />
  if (!found.data) return null
  const callflows = found.data.data
  return (
    <Titled
      title={t('groups.numbers')}
      text={t(callflows.length === 0 ? 'groups.noCallflows' : 'groups.numbersText')}
    >
      {callflows.map(({ id, name, numbers }) => (
        <Text key={id} style={{ overflowWrap: 'anywhere' }}>
          {numbers.join(', ')} <ToScreen to={to(`callflows/${id}`)}>{name ?? t('groups.callflow')}</ToScreen>
        </Text>
      ))}
      <Group>
        <ButtonToScreen to={to(`callflows/new?group_id=${groupId}`)} variant="default" size="xs">
          {t('groups.newCallflow')}
        </ButtonToScreen>
      </Group>
    </Titled>
  )
}
