import { type Patience, type Place, usualPatience } from './connection.ts'
import { openCouchdb } from './couchdb.ts'
import { openDump } from './dumps/dump.ts'
import { type Source, SourceTrouble } from './source.ts'

const decoded = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new SourceTrouble('the user name or password in the address must be percent-encoded')
  }
}

/** Errors never repeat the address: it may contain a password. */
const placeOf = (text: string): Place => {
  const url = URL.parse(text)
  if (!url) throw new SourceTrouble('the address of the source is not valid')
  if (!/^https?:$/.test(url.protocol))
    throw new SourceTrouble('the source must be an http or https URL, or a path')
  const { origin, host, pathname, username, password } = url
  return {
    base: `${origin}${pathname.replace(/\/+$/, '')}`,
    host,
    credentials: username === '' ? undefined : { name: decoded(username), password: decoded(password) },
  }
}

/** Opens a CouchDB by address, or a dump by path. */
export const openSource = async (text: string, patience: Partial<Patience> = {}): Promise<Source> =>
  /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
    ? openCouchdb(placeOf(text), { ...usualPatience, ...patience })
    : openDump(text)
