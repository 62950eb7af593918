/** The actor in feed and audit log. */
interface FeedActor {
  type: 'user' | 'api_key' | 'impersonator' | 'task' | 'system'
  id?: string
  account_id?: string
  /** The user that an impersonator acts as. */
  as?: { id?: string; account_id?: string }
}

export interface AuthorIds {
  authAccountId?: string
  authUserId?: string
  authKeyId?: string
  taskId?: string
  /** Of an impersonator. */
  originalAuthAccountId?: string
  originalAuthUserId?: string
}

const person = (id: string | undefined, accountId: string | undefined) => ({
  ...(id === undefined ? {} : { id }),
  ...(accountId === undefined ? {} : { account_id: accountId }),
})

/** The one key that each account has goes by the account's id. */
export const actorOf = (author: AuthorIds): FeedActor => {
  const { taskId, authAccountId, authUserId, authKeyId } = author
  if (taskId !== undefined) return { type: 'task', ...person(taskId, authAccountId) }
  if (authAccountId === undefined) return { type: 'system' }
  const itself = person(authUserId, authAccountId)
  const { originalAuthUserId: userId, originalAuthAccountId: accountId } = author
  if (userId !== undefined || accountId !== undefined)
    return { type: 'impersonator', ...person(userId, accountId ?? authAccountId), as: itself }
  if (authKeyId !== undefined) return { type: 'api_key', ...person(authKeyId, authAccountId) }
  if (authUserId === undefined) return { type: 'api_key', ...person(authAccountId, authAccountId) }
  return { type: 'user', ...itself }
}
