import { Badge, Switch } from '@mantine/core'
import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlace } from '../../frame/place.tsx'
import { crosspoint } from '../../lib/api.ts'
import type { Page } from '../../lib/pages.ts'
import { showTime } from '../../lib/times.ts'
import { Empty } from '../../parts/empty.tsx'
import { RowList } from '../../parts/row-list.tsx'
import type { SignInSubject } from './sign-in-subject.ts'

interface AttemptRow {
  id: string
  auth_type: string
  status: string
  message: string
  client_ip: string
  timestamp: number
}

/**
 * What is noted of this user's sign-ins within the last month; or of all at the account: a wrong password does not tell
 * whose it was to be.
 */
export const Attempts = ({ user: { userId } }: { user: SignInSubject }) => {
  const { t } = useTranslation()
  const { accountId, timezone } = usePlace()
  const path = `/v2/accounts/${accountId}/security/attempts`
  const [isOfAll, setIsOfAll] = useState(false)
  return (
    <>
      <Switch
        label={t('users.attemptsOfAll')}
        description={t('users.attemptsOfAllText')}
        checked={isOfAll}
        onChange={({ currentTarget: { checked } }) => setIsOfAll(checked)}
      />
      <RowList<AttemptRow>
        label={t('users.attempts')}
        queryKey={['login_attempt', accountId, isOfAll ? '' : userId]}
        read={async (start_key, signal): Promise<Page<AttemptRow>> => {
          const ofUser = { 'filter_metadata.owner_id': userId }
          const query = { ...(isOfAll ? {} : ofUser), start_key }
          const { envelope } = await crosspoint.request<AttemptRow[]>({ path, query, signal })
          return envelope
        }}
        columns={[
          { id: 'at', title: t('users.at'), show: ({ timestamp }) => showTime(timestamp, timezone) },
          {
            id: 'how',
            title: t('users.how'),
            isExtra: true,
            show: ({ auth_type }) => t(`users.authType.${auth_type}`, { defaultValue: auth_type }),
          },
          {
            id: 'status',
            title: t('users.outcome'),
            show: ({ status }) => (
              <Badge color={status === 'success' ? 'green' : 'red'}>
                {t(status === 'success' ? 'users.succeeded' : 'users.refused')}
              </Badge>
            ),
          },
          { id: 'address', title: t('users.address'), show: ({ client_ip }) => client_ip },
          { id: 'message', title: t('users.message'), isExtra: true, show: ({ message }) => message },
        ]}
        rowKey={({ id }) => id}
        empty={<Empty Icon={KeyRound} text={t(isOfAll ? 'users.noAttemptsAtAll' : 'users.noAttempts')} />}
      />
    </>
  )
}
