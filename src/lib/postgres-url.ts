// PostgreSQL URLs may name several hosts: postgres://user@a:5432,b:5432/name

const form = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^@/?#]*)(.*)$/s
const host = /^(?:\[[0-9a-fA-F:.]+\]|[^\s:,[\]]+)(?::(?<port>\d{1,5}))?$/

interface Parts {
  before: string
  hosts: string[]
  after: string
}

const partsOf = (url: string): Parts | undefined => {
  const [, before, hosts, after] = form.exec(url) ?? []
  if (before === undefined || hosts === undefined || after === undefined) return undefined
  return { before, hosts: hosts.split(','), after }
}

/** One URL for each host. */
export const eachHostOf = (url: string): string[] => {
  const parts = partsOf(url)
  return parts ? parts.hosts.map((name) => `${parts.before}${name}${parts.after}`) : [url]
}

/** Without user and password. */
export const hostIn = (url: string): string => partsOf(url)?.hosts.join(',') || 'the local socket'

const mistakeInHost = (name: string): string | undefined => {
  if (name === '') return 'contains an empty host: postgres://user@a:5432,b:5432/name'
  const found = host.exec(name)
  if (!found) return `contains the invalid host "${name}": write host, host:port or [IPv6]:port`
  const port = found.groups?.port
  const isPort = port === undefined || (Number(port) > 0 && Number(port) <= 65_535)
  return isPort ? undefined : `contains the invalid port ${port} of "${name}": use 1 to 65535`
}

const mistakeInQuery = (query: URLSearchParams, isList: boolean): string | undefined => {
  if (query.has('password'))
    return 'contains a password in its options: write it after the user, user:password@host'
  const named = query.get('host')
  if (named !== null && (isList || named.includes(','))) {
    return 'contains several hosts in "host": write them before the name, postgres://user@a:5432,b:5432/name'
  }
  const wanted = query.get('target_session_attrs')
  if (wanted !== null && wanted !== 'read-write' && wanted !== 'primary') {
    return `contains target_session_attrs=${wanted}: remove it, the server always uses the primary`
  }
  return undefined
}

export const otherScheme = 'must be a URL that begins with postgres://'

const isDecodable = (text: string) => {
  try {
    return decodeURIComponent(text) !== ''
  } catch {
    return false
  }
}

/** Whether pg can parse it. As pg does, it escapes a stray %, and adds a host before a slash after an @. */
const isReadable = (url: string) => {
  const escaped = / |%[^a-f0-9]|%[a-f0-9][^a-f0-9]/i.test(url)
    ? encodeURI(url).replace(/%25(\d\d)/g, '%$1')
    : url
  return isDecodable(escaped) && (URL.canParse(escaped) || URL.canParse(escaped.replace('@/', '@host/')))
}

/** Never contains user or password. */
export const mistakeInPostgresUrl = (url: string): string | undefined => {
  const parts = partsOf(url)
  if (!parts) return otherScheme
  const { hosts, after } = parts
  // The text before such an @ is part of a password.
  if (after.includes('@'))
    return 'contains an @ after its hosts: write / ? # @ in user, password and options as %2F %3F %23 %40'
  const isList = hosts.length > 1
  // Without a host it is a local socket.
  const names = isList ? hosts : hosts.filter((name) => name !== '')
  const broken = names.map(mistakeInHost).find((mistake) => mistake !== undefined)
  if (broken) return broken
  const twice = hosts.find((name, index) => hosts.indexOf(name) !== index)
  if (twice !== undefined) return `contains the host "${twice}" twice`
  if (!eachHostOf(url).every(isReadable))
    return 'cannot be read: write it as postgres://user:password@host:5432/name, with / ? # @ % in user and password as %2F %3F %23 %40 %25'
  return mistakeInQuery(new URL(`postgres://host${after}`).searchParams, isList)
}
