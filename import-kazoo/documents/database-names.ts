// The name of a database determines its content. Kazoo itself checks the length of names; other names are
// odd and are reported.

/** `import`: becomes records. `list`: is counted. `never`: is internal. */
type Taking = 'import' | 'list' | 'never'

export type DatabaseKind =
  | { kind: 'account'; taking: 'import'; accountId: string }
  /** `month`: `202502`. */
  | { kind: 'month'; taking: 'import'; accountId: string; month: string }
  | { kind: 'year'; taking: 'import'; accountId: string; year: string }
  | { kind: 'selectors' | 'provisioner'; taking: 'list'; accountId: string }
  /** `prefix`: `+1415`, how the numbers in it begin. */
  | { kind: 'numbers'; taking: 'import'; prefix: string }
  | { kind: 'pool'; taking: 'import'; pool: 'managed' | 'inum' }
  | { kind: 'ratedeck'; taking: 'import'; ratedeckId: string }
  | { kind: 'system'; taking: Taking; name: string }
  | { kind: 'odd'; taking: 'list' }

const systemDatabases: Readonly<Record<Taking, readonly string[]>> = {
  import: [
    'accounts',
    'alerts',
    'dedicated_ips',
    'port_requests',
    'services',
    // May require a second factor.
    'system_auth',
    'system_config',
    // Contains storage plans.
    'system_data',
    'tasks',
    'webhooks',
  ],
  list: [
    'acdc',
    'anonymous_cdrs',
    'cccps',
    'crossbar/sessions',
    'crossbar_schemas',
    'faxes',
    'functions',
    'global_provisioner',
    'oauth',
    'offnet',
    'pending_notifications',
    'registrations',
    'signups',
    'sip_auth',
    'sms',
    'system_media',
    'token_auth',
    'ts',
  ],
  never: ['dbs', 'nodes', 'system_schemas', 'users'],
}

const takings: readonly Taking[] = ['import', 'list', 'never']

/** Documents and folders encode names once or twice. */
export const decodedDatabaseName = (text: string): string => {
  let name = text
  for (let times = 0; times < 2 && name.includes('%'); times += 1) {
    try {
      name = decodeURIComponent(name)
    } catch {
      // It was not encoded.
      return name
    }
  }
  return name
}

/** A name as documents have it, and as one part of an address. */
export const encodedDatabaseName = (name: string) => encodeURIComponent(name)

export const accountDatabase = (accountId: string) =>
  `account/${accountId.slice(0, 2)}/${accountId.slice(2, 4)}/${accountId.slice(4)}`

const ofAccount = (accountId: string, behind: string): DatabaseKind => {
  if (behind === '') return { kind: 'account', taking: 'import', accountId }
  if (/^-\d{4}(?:0[1-9]|1[0-2])$/.test(behind))
    return { kind: 'month', taking: 'import', accountId, month: behind.slice(1) }
  if (/^-\d{4}$/.test(behind)) return { kind: 'year', taking: 'import', accountId, year: behind.slice(1) }
  if (behind === '-selectors') return { kind: 'selectors', taking: 'list', accountId }
  if (behind === '-provisioner') return { kind: 'provisioner', taking: 'list', accountId }
  return { kind: 'odd', taking: 'list' }
}

/** `name`: decoded. */
export const databaseKindOf = (name: string): DatabaseKind => {
  const account = /^account\/([0-9a-f]{2})\/([0-9a-f]{2})\/([0-9a-f]{28})(.*)$/s.exec(name)
  if (account) return ofAccount(account.slice(1, 4).join(''), account[4] ?? '')
  const numbers = /^numbers\/(\+\d{1,4}|\d{1,5})$/.exec(name)
  if (numbers) return { kind: 'numbers', taking: 'import', prefix: numbers[1] ?? '' }
  if (name === 'numbers/managed') return { kind: 'pool', taking: 'import', pool: 'managed' }
  if (name === 'numbers/inum') return { kind: 'pool', taking: 'import', pool: 'inum' }
  if (name === 'ratedeck') return { kind: 'ratedeck', taking: 'import', ratedeckId: name }
  const deck = /^ratedeck\/(.+)$/s.exec(name)
  if (deck) return { kind: 'ratedeck', taking: 'import', ratedeckId: deck[1] ?? '' }
  return systemKindOf(name)
}

const systemKindOf = (name: string): DatabaseKind => {
  if (name.startsWith('_')) return { kind: 'system', taking: 'never', name }
  const taking = takings.find((one) => systemDatabases[one].includes(name))
  return taking ? { kind: 'system', taking, name } : { kind: 'odd', taking: 'list' }
}

const kindWith = (kind: DatabaseKind, once: (text: string) => string): DatabaseKind => {
  if (kind.kind === 'account') return { ...kind, accountId: once(kind.accountId) }
  if (kind.kind !== 'month') return kind
  return { ...kind, accountId: once(kind.accountId), month: once(kind.month) }
}

/** There may be 100,000 databases: equal texts are stored once. */
export const databaseKindsOf = (names: readonly string[]): Map<string, DatabaseKind> => {
  const texts = new Map<string, string>()
  const once = (text: string) => {
    const known = texts.get(text)
    if (known === undefined) texts.set(text, text)
    return known ?? text
  }
  return new Map(names.map((name) => [name, kindWith(databaseKindOf(name), once)]))
}
