import type { Place } from './connection.ts'
import { SourceTrouble } from './source.ts'

const decoded = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new SourceTrouble('the user name or password in the address is not encoded for an address')
  }
}

/** What an address leads to. None of its words is repeated where it is wrong: it may hold a password. */
export const placeOf = (text: string): Place => {
  const url = URL.parse(text)
  if (!url) throw new SourceTrouble('the address of the source is not valid')
  if (!/^https?:$/.test(url.protocol)) throw new SourceTrouble('the source has to be http, https or a path')
  const { origin, host, pathname, username, password } = url
  return {
    base: `${origin}${pathname.replace(/\/+$/, '')}`,
    host,
    credentials: username === '' ? undefined : { name: decoded(username), password: decoded(password) },
  }
}

/** Whether a source is named by an address; otherwise it is a path. */
export const isAddress = (text: string) => /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
