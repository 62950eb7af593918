import { getUser } from '@crosspoint/client'
import { useTranslation } from 'react-i18next'
import { useAnswer } from './answers.ts'
import { api } from './api.ts'

/** Who did something, as audit and events tell it. */
export interface ActorFacts {
  type: string
  id?: string
  account_id?: string
  /** Whom an impersonator acted as. */
  as?: { id?: string; account_id?: string }
}

/** The name of a user, read once; undefined if the user is deleted or not readable. */
const useNameOf = ({ id = '', account_id = '' }: { id?: string; account_id?: string }) => {
  const found = useAnswer(
    ['user', account_id, id],
    (signal) => getUser({ ...api, path: { account_id, user_id: id }, signal }),
    { enabled: id !== '' && account_id !== '' },
  )
  const user = found.data?.data
  return user && ([user.first_name, user.last_name].filter(Boolean).join(' ') || user.username)
}

const shownCharacters = 8

/** The name of the user who did it, or the type and ID of another actor. */
export const useActorName = ({ type, id = '', account_id, as = {} }: ActorFacts) => {
  const { t } = useTranslation()
  const isPerson = type === 'user' || type === 'impersonator'
  const name = useNameOf(isPerson ? { id, account_id } : {})
  const other = useNameOf(type === 'impersonator' ? as : {})
  const kind = t(`actor.${type}`, { defaultValue: type })
  const who = name ?? (id === '' ? kind : `${kind} ${id.slice(0, shownCharacters)}`)
  return name !== undefined && other !== undefined ? t('actor.actingAs', { who, other }) : who
}
