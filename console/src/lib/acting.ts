import type { Envelope, Session } from '@crosspoint/client'
import { crosspoint, sessionKey } from './api.ts'

// The session of whoever acts as somebody else, to go back to.
const ownKey = `${sessionKey}.own`

/** Goes on as another user, in the session that the server has opened for that. */
export const startActing = (envelope: Envelope) => {
  const own = localStorage.getItem(sessionKey)
  crosspoint.signInWith(envelope)
  if (own !== null) localStorage.setItem(ownKey, own)
  location.assign('/')
}

const claimsOf = (token: string): object => {
  const [, claims = ''] = token.split('.')
  try {
    const read: unknown = JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/')))
    return typeof read === 'object' && read !== null ? read : {}
  } catch {
    return {}
  }
}

/** The token itself says so, renewed or not. */
export const isActing = () => 'original_account_id' in claimsOf(crosspoint.session()?.token ?? '')

/** What is to be the session after that of the other user. */
const takeOwn = () => {
  const own = isActing() ? localStorage.getItem(ownKey) : null
  localStorage.removeItem(ownKey)
  return own
}

/** Ends the session of the other user, and goes on as oneself. */
export const endActing = async () => {
  const { token } = crosspoint.session() ?? { token: '' }
  const own = takeOwn()
  if (own === null) await crosspoint.signOut().catch(() => undefined)
  else {
    // Oneself first: whatever becomes of the rest, one is signed in as before.
    localStorage.setItem(sessionKey, own)
    await crosspoint
      .request({ method: 'DELETE', path: '/v2/token_auth', headers: { 'x-auth-token': token } })
      .catch(() => undefined)
  }
  location.assign('/')
}

/** Written when somebody signs out: the other tabs hear of it. A session that only ended is asked for anew instead. */
export const leftKey = `${sessionKey}.left`

/** By what it is known that a session is still of the same person, as themselves or as somebody else. */
export const whoIs = (session: Session | undefined) =>
  session && `${session.accountId} ${session.userId} ${'original_account_id' in claimsOf(session.token)}`

/** Signs out whoever sits here: of somebody who acts as another, both. Here in any case, at the server if it can be told. */
export const signOut = async () => {
  const own = takeOwn()
  try {
    await crosspoint.signOut().catch(() => undefined)
    if (own === null) return
    localStorage.setItem(sessionKey, own)
    await crosspoint.signOut().catch(() => undefined)
  } finally {
    localStorage.setItem(leftKey, String(Date.now()))
  }
}
