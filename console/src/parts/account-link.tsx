import { getAccount } from '@crosspoint/client'
import { useAnswer } from '../lib/answers.ts'
import { api } from '../lib/api.ts'
import { ToScreen } from './link.tsx'

/** An account by its name; its ID if it was deleted. */
export const AccountLink = ({ id }: { id: string }) => {
  const found = useAnswer(['account', id], (signal) =>
    getAccount({ ...api, path: { account_id: id }, signal }),
  )
  return found.data ? <ToScreen to={`/a/${id}/overview`}>{found.data.data.name}</ToScreen> : id
}
