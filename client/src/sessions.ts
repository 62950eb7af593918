import { errorFactsOf, mustReadEnvelope, readEnvelope } from './envelope.ts'
import { CrosspointError, Unreachable } from './errors.ts'
import type { Outgoing, Send } from './sending.ts'
import { ageMsOf, isDueForRenewal, type Session, type SessionStore, sessionOf } from './session.ts'

export interface SessionsOptions {
  url: (path: string) => string
  send: Send
  store: SessionStore
  now: () => number
  onSignedOut: (ended: Session) => void | Promise<void>
}

/** Statuses that say: never, for this session. */
const neverRenewed = new Set([400, 401, 403, 405, 412])

/** The session that calls are made in: renewed before it ends, and opened again after it has. */
export const createSessions = ({ url, send, store, now, onSignedOut }: SessionsOptions) => {
  let renewing = false
  let notRenewable: string | undefined
  let recovering: Promise<void> | undefined
  let reopen: (() => Promise<unknown>) | undefined

  const outgoing = (method: string, path: string, token: string, body?: object): Outgoing => {
    const headers = new Headers({ accept: 'application/json', 'x-auth-token': token })
    if (body) headers.set('content-type', 'application/json')
    return { method, url: url(path), headers, ...(body ? { body: JSON.stringify(body) } : {}) }
  }

  const open = (session: Session, again?: () => Promise<unknown>) => {
    store.save(session)
    reopen = again
  }

  const renew = async (session: Session) => {
    const response = await send(
      outgoing('PUT', '/v2/auth', session.token, { data: {}, action: 'refresh_token' }),
    )
    const envelope = await readEnvelope(response)
    const renewed = response.ok ? sessionOf(envelope?.auth_token, envelope?.data, now()) : undefined
    // A sign-out or sign-in during the renewal takes precedence.
    if (renewed && store.load()?.token === session.token) store.save(renewed)
    if (neverRenewed.has(response.status)) notRenewable = session.token
  }

  /** In the background: calls continue with the old token, which is still valid. */
  const renewWhenDue = (session: Session) => {
    if (renewing || notRenewable === session.token || !isDueForRenewal(session, now())) return
    renewing = true
    const done = () => {
      renewing = false
    }
    // If the server is unreachable, the next call tries again.
    renew(session).then(done, done)
  }

  const isGood = async (token: string) => {
    const response = await send(outgoing('GET', '/v2/token_auth', token))
    await response.body?.cancel()
    return response.status !== 401
  }

  /** Whether a new session could be opened without a prompt. */
  const isReopened = async () => {
    try {
      await reopen?.()
      return reopen !== undefined
    } catch (error) {
      if (error instanceof Unreachable) throw error
      return false
    }
  }

  const recover = async (ended: Session) => {
    if ((await isGood(ended.token)) || (await isReopened())) return
    if (store.load()?.token === ended.token) store.clear()
    await onSignedOut(ended)
  }

  const readSession = async (response: Response, token: string) => {
    const envelope = await mustReadEnvelope(response)
    if (!response.ok) throw new CrosspointError(errorFactsOf(response, envelope))
    const made = now() - ageMsOf(token, envelope.timestamp)
    const session = sessionOf(token, envelope.data, made)
    if (session) return session
    throw new CrosspointError({
      status: response.status,
      kind: 'no_session',
      message: 'the answer opens no session',
    })
  }

  return {
    current: () => store.load(),
    open,

    /** The session of a token that another program got. */
    async openToken(token: string) {
      const session = await readSession(await send(outgoing('GET', '/v2/token_auth', token)), token)
      open(session)
      return session
    },

    /** The session for the next call. */
    forCall() {
      const session = store.load()
      if (session) renewWhenDue(session)
      return session
    },

    /** After a 401: the session to repeat the call with; undefined if the 401 is final. */
    async after401(used: Session | undefined): Promise<Session | undefined> {
      const current = store.load()
      if (current && current.token !== used?.token) return current
      if (!recovering) {
        if (!used) return undefined
        recovering = recover(used).finally(() => {
          recovering = undefined
        })
      }
      await recovering
      const opened = store.load()
      return opened?.token === used?.token ? undefined : opened
    },

    /** Ends the session here always, and on the server if it is reachable. */
    async close() {
      const session = store.load()
      store.clear()
      reopen = undefined
      if (!session) return
      const response = await send(outgoing('DELETE', '/v2/token_auth', session.token))
      const envelope = await readEnvelope(response)
      if (!response.ok && response.status !== 401) throw new CrosspointError(errorFactsOf(response, envelope))
    },
  }
}

export type Sessions = ReturnType<typeof createSessions>
