import { getUser } from '@crosspoint/client'
import { useTranslation } from 'react-i18next'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'

export interface ActorFacts {
  type: string
  id?: string
  account_id?: string
}

/** Who did something: the name of a user, or what else it was. A user who may not be read, or is gone, has an id. */
export const useActorName = ({ type, id = '', account_id = '' }: ActorFacts) => {
  const { t } = useTranslation()
  const isUser = type === 'user' && id !== '' && account_id !== ''
  const found = useAnswer(
    ['user', account_id, id],
    (signal) => getUser({ ...api, path: { account_id, user_id: id }, signal }),
    { enabled: isUser },
  )
  if (!isUser) return t(`actor.${type}`, { defaultValue: type })
  const user = found.data?.data
  if (!user) return t('events.userNamed', { name: id.slice(0, 8) })
  return [user.first_name, user.last_name].filter(Boolean).join(' ')
}

/** A kind of records in words: `phone_number` is a phone number. */
export const useKindName = () => {
  const { t } = useTranslation()
  return (kind: string) => t(`events.kind.${kind}`, { defaultValue: kind.replaceAll('_', ' ') })
}
