import type { Envelope, Session } from '@crosspoint/client'
import { crosspoint, sessionKey } from './api.ts'

// The original session of a user who signed in as another user.
const ownKey = `${sessionKey}.own`

/** Continues as another user, in the session that the server opened for that. */
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

/** Ends the session of the other user and returns to the original one. */
export const endActing = async () => {
  const { token } = crosspoint.session() ?? { token: '' }
  const own = takeOwn()
  if (own === null) await crosspoint.signOut().catch(() => undefined)
  else {
    // Restores the original session first, so that it survives failures of the rest.
    localStorage.setItem(sessionKey, own)
    await crosspoint
      .request({ method: 'DELETE', path: '/v2/token_auth', headers: { 'x-auth-token': token } })
      .catch(() => undefined)
  }
  location.assign('/')
}

/** Written at sign-out: other tabs react to it. An expired session only asks for the password again. */
export const leftKey = `${sessionKey}.left`

/** Identifies the person of a session, also while signed in as another user. */
export const whoIs = (session: Session | undefined) =>
  session && `${session.accountId} ${session.userId} ${'original_account_id' in claimsOf(session.token)}`

/** Signs out both sessions: on this machine always, on the server if it is reachable. */
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
