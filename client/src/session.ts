import { isObject } from './envelope.ts'

/** The data of a sign-in besides the token. */
export interface Login {
  account_id: string
  /** The user; absent for API keys. */
  owner_id?: string
  account_name?: string
  reseller_id?: string
  is_reseller?: boolean
  is_master_account?: boolean
  language?: string
  /** Scopes that the token is bound to, with spaces between; absent: none. */
  scope?: string
  user_info?: Readonly<Record<string, unknown>>
  [more: string]: unknown
}

export interface Session {
  token: string
  accountId: string
  /** Absent when an API key has signed in. */
  userId?: string
  login: Login
  /**
   * When the token was made, in milliseconds since 1970 by this machine's clock: its end is counted from here, whatever the
   * server's clock says.
   */
  openedAt: number
}

/** Where a session is kept between calls. It is asked before each one: what another tab writes holds here too. */
export interface SessionStore {
  load(): Session | undefined
  save(session: Session): void
  clear(): void
}

export const memoryStore = (): SessionStore => {
  let kept: Session | undefined
  return {
    load: () => kept,
    save(session) {
      kept = session
    },
    clear() {
      kept = undefined
    },
  }
}

const isLogin = (value: unknown): value is Login => isObject(value) && typeof value.account_id === 'string'

const isSession = (value: unknown): value is Session =>
  isObject(value) &&
  typeof value.token === 'string' &&
  typeof value.accountId === 'string' &&
  typeof value.openedAt === 'number' &&
  isLogin(value.login)

/** The session in a text, such as a file's; undefined when it holds none. */
export const sessionIn = (text: string | null): Session | undefined => {
  try {
    const value: unknown = JSON.parse(text ?? '')
    return isSession(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The used part of a browser's storage. */
export interface KeyValueStorage {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

/** Keeps the session in a browser's storage, where every script of the page's origin can read it. */
export const localStorageStore = (
  key = 'crosspoint',
  storage: KeyValueStorage = localStorage,
): SessionStore => {
  let text: string | null = null
  let session: Session | undefined
  return {
    load() {
      const found = storage.getItem(key)
      if (found !== text) session = sessionIn(found)
      text = found
      return session
    },
    save: (opened) => storage.setItem(key, JSON.stringify(opened)),
    clear: () => storage.removeItem(key),
  }
}

/** Undefined when the answer is none that opens a session. */
export const sessionOf = (token: string | undefined, data: unknown, now: number): Session | undefined => {
  if (token === undefined || !isLogin(data)) return undefined
  const { account_id: accountId, owner_id: userId, recovery_codes: _told, ...rest } = data
  const login: Login = {
    account_id: accountId,
    ...(userId === undefined ? {} : { owner_id: userId }),
    ...rest,
  }
  return { token, accountId, ...(userId === undefined ? {} : { userId }), login, openedAt: now }
}

const claimsOf = (token: string): unknown => {
  const [, claims = ''] = token.split('.')
  try {
    return JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/')))
  } catch {
    return undefined
  }
}

/** When a token was made and when it ends, in milliseconds since 1970 by the server's clock. */
const timesOf = (token: string) => {
  const claims = claimsOf(token)
  if (!isObject(claims) || typeof claims.exp !== 'number' || typeof claims.iat !== 'number') return undefined
  return { made: claims.iat * 1000, ends: claims.exp * 1000 }
}

/** The age of a token that another program got, by the time in a response of its server; 0 if unknown. */
export const ageMsOf = (token: string, timestamp: string): number => {
  const times = timesOf(token)
  const age = Date.parse(timestamp) - (times?.made ?? Number.NaN)
  return age > 0 ? age : 0
}

// The last quarter of its life is left for trying.
const renewedAfter = 0.75

/** Whether it is time for a new token. One that never ends is left alone. */
export const isDueForRenewal = ({ token, openedAt }: Session, now: number) => {
  const times = timesOf(token)
  return times !== undefined && now - openedAt > renewedAfter * (times.ends - times.made)
}
