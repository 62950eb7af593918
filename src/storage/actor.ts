/** Who did something, in the words of feed and audit. */
interface FeedActor {
  type: 'user' | 'api_key' | 'impersonator' | 'task' | 'system'
  id?: string
  account_id?: string
  /** Whom an impersonator acted as. */
  as?: { id?: string; account_id?: string }
}

/** The ids by which an author is known. */
export interface AuthorIds {
  authAccountId?: string
  authUserId?: string
  /** The named API key, where one was used. */
  authKeyId?: string
  /** The task that does it for whoever started it. */
  taskId?: string
  /** Set while somebody acts as another user. */
  originalAuthAccountId?: string
  originalAuthUserId?: string
}

const person = (id: string | undefined, accountId: string | undefined) => ({
  ...(id === undefined ? {} : { id }),
  ...(accountId === undefined ? {} : { account_id: accountId }),
})

/** An API key goes by the named key's id; the one key that each account has goes by the account's. */
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
