import { parseAddress } from '../../../lib/cidr.ts'
import { normalizeNumber } from '../../../lib/e164.ts'
import { joinProblems, type Problems, requiredField, taken, wrongFormat } from '../../../lib/failure.ts'
import { type Json, present } from '../../../lib/json.ts'
import { storedPart } from '../../../lib/record-shape.ts'
import { sipAddress, sipPlaceIn } from '../../../lib/sip-host.ts'
import { literalOf, type WrittenDestination } from '../resources/hosts.rules.ts'
import { headerProblems, numberFormats } from '../resources/rules.ts'
import { type Connectivity, connectivityShape, type Server } from './schema.ts'

export type ConnectivityDoc = Connectivity & { readonly [custom: string]: unknown }

type Did = NonNullable<Server['DIDs']>[string]

const isKnownByAddress = ({ auth: { auth_method: method } }: Readonly<Server>) =>
  method?.toLowerCase() === 'ip'

/** Its name, or its position among the servers. */
export const serverName = ({ server_name: name }: Readonly<Server>, index: number) => name || String(index)

export const isServerOn = ({ options }: Readonly<Server>) => options?.enabled !== false

export const serverAddress = (server: Readonly<Server>) =>
  isKnownByAddress(server) ? server.auth.ip : undefined

export const userOf = (server: Readonly<Server>) =>
  isKnownByAddress(server) ? undefined : server.auth.auth_user

const writtenAddress = (text: string) => literalOf(text) ?? text

/** The server with other numbers. */
const withDids = (server: Server, numbersFor: (number: string) => readonly string[]): Server =>
  server.DIDs
    ? {
        ...server,
        DIDs: Object.fromEntries(
          Object.entries(server.DIDs).flatMap(([number, did]) => numbersFor(number).map((one) => [one, did])),
        ),
      }
    : server

const tidyServer = (server: Server, normalize: (text: string) => string): Server => {
  const { ip } = server.auth
  return {
    ...withDids(server, (number) => [normalize(number)]),
    auth: { ...server.auth, ...(ip === undefined ? {} : { ip: writtenAddress(ip) }) },
  }
}

const withoutOwnRealm = (account: NonNullable<Connectivity['account']>, accountRealm: string) => {
  const { auth_realm: realm, ...rest } = account
  return realm?.toLowerCase() === accountRealm.toLowerCase() ? rest : account
}

/**
 * The stored form of a request: numbers and addresses in the form that is compared. The account's realm is not
 * stored, so that the servers follow its changes.
 */
export const storedTrunks = (
  data: Json,
  { realm, normalize }: { realm: string; normalize(text: string): string },
): ConnectivityDoc => {
  const doc = storedPart<ConnectivityDoc>(data, connectivityShape)
  const { account, servers = [] } = doc
  return {
    ...doc,
    ...(account ? { account: withoutOwnRealm(account, realm) } : {}),
    servers: servers.map((server) => tidyServer(server, normalize)),
  }
}

type ListedDid = ReturnType<typeof didsOf>[number]

/** The numbers whose calls the trunks take. */
export const didsOf = ({ servers = [] }: Partial<Connectivity>) =>
  servers.flatMap((server, index) =>
    Object.entries(server.DIDs ?? {}).map(([number, did]) => ({ number, did, server, index })),
  )

/** The trunks with another number instead of one whose calls they take, or without it. */
export const withNumber = (doc: ConnectivityDoc, number: string, instead?: string): ConnectivityDoc => ({
  ...doc,
  servers: (doc.servers ?? []).map((server) =>
    withDids(server, (one) => (one === number ? [instead ?? []].flat() : [one])),
  ),
})

/** Users whose registrations are no longer valid. */
export const endedUsers = (
  before: Readonly<Connectivity>,
  after: Readonly<Connectivity> | undefined,
): string[] => {
  const credentials = ({ account, servers = [] }: Readonly<Connectivity>) =>
    new Map(
      servers.flatMap((server) => {
        const user = isServerOn(server) ? userOf(server) : undefined
        if (user === undefined) return []
        return [[user, JSON.stringify([account?.auth_realm, server.auth.auth_password])] as const]
      }),
    )
  const left: ReadonlyMap<string, string> = after ? credentials(after) : new Map()
  return [...credentials(before)].flatMap(([user, said]) => (left.get(user) === said ? [] : [user]))
}

/** Whether a server that is known by its address no longer is. */
export const endsAddress = (before: Readonly<Connectivity>, after: Readonly<Connectivity> | undefined) => {
  const addressesOf = ({ servers = [] }: Readonly<Connectivity>) =>
    servers.flatMap((server) => (isServerOn(server) && serverAddress(server)) || [])
  const left = after ? addressesOf(after) : []
  return addressesOf(before).some((address) => !left.includes(address))
}

const authProblems = (server: Server, path: string): Problems => {
  const { auth_user: user, ip } = server.auth
  if (!isKnownByAddress(server))
    return user === undefined ? requiredField(`${path}.auth_user`, 'auth_user') : {}
  if (ip === undefined) return requiredField(`${path}.ip`, 'ip')
  if (parseAddress(ip)) return {}
  return wrongFormat(`${path}.ip`, 'ip', 'Must be an IP address', ip)
}

const serverProblems = (server: Server, index: number): Problems => {
  const path = `servers.${index}`
  const { auth, options } = server
  const lacksName = options?.inbound_format === 'username' && auth.auth_user === undefined
  return joinProblems(
    authProblems(server, `${path}.auth`),
    lacksName ? requiredField(`${path}.auth.auth_user`, 'auth_user') : {},
    ...(options?.sip_headers ?? []).map((headers, at) =>
      headerProblems(`${path}.options.sip_headers.${at}`, headers),
    ),
  )
}

/** The paths of repeated values. */
const repeated = (values: readonly (readonly [path: string, value: string | undefined])[]) => {
  const known = values.filter(([, value]) => value !== undefined)
  const alike = Map.groupBy(known, ([, value]) => value).values()
  return [...alike].flatMap((same) => same.slice(1).map(([path]) => path))
}

const maxDids = 2000

const repetitionProblems = (doc: Partial<Connectivity>, normalize: (text: string) => string): Problems => {
  const { servers = [] } = doc
  const dids = didsOf(doc)
  const users = servers.map(
    (server, index) => [`servers.${index}.auth.auth_user`, userOf(server)?.toLowerCase()] as const,
  )
  const addresses = servers.map((server, index) => {
    const address = serverAddress(server)
    return [`servers.${index}.auth.ip`, address && writtenAddress(address)] as const
  })
  const numbers = dids.map(
    ({ number, index }) => [`servers.${index}.DIDs.${number}`, normalize(number)] as const,
  )
  const paths = [users, addresses, numbers].flatMap(repeated)
  const message = `The servers must have at most ${maxDids} numbers`
  return joinProblems(
    dids.length > maxDids ? { servers: { maxProperties: { message, target: maxDids } } } : {},
    ...paths.map((path) => taken(path, 'Two servers cannot have the same value', path.split('.').at(-1))),
  )
}

export const connectivityProblems = (
  doc: Partial<Connectivity>,
  normalize: (text: string) => string,
): Problems => joinProblems(...(doc.servers ?? []).map(serverProblems), repetitionProblems(doc, normalize))

export const destinationsOf = ({ servers = [] }: Partial<Connectivity>): WrittenDestination[] =>
  servers.flatMap((server, index) => {
    const path = `servers.${index}`
    const hosts = { 'auth.ip': serverAddress(server), 'options.ip': server.options?.ip }
    return [
      ...Object.entries(hosts).flatMap(([field, text]) =>
        text === undefined ? [] : [{ path: `${path}.${field}`, form: 'host' as const, text }],
      ),
      ...failoverDestination(`${path}.options`, server.options?.failover),
      ...Object.entries(server.DIDs ?? {}).flatMap(([number, { failover }]) =>
        failoverDestination(`${path}.DIDs.${number}`, failover),
      ),
    ]
  })

const failoverDestination = (path: string, failover: Did['failover']): WrittenDestination[] =>
  failover?.sip === undefined ? [] : [{ path: `${path}.failover.sip`, form: 'uri', text: failover.sip }]

const formats = numberFormats(/^\+1([2-9]\d{2}[2-9]\d{6})$/)

/** Without `uri` the server is called where it is registered. */
const contactOfServer = (server: Server, realm: string) => {
  const { auth, options } = server
  const host = options?.ip ?? serverAddress(server)
  const isRegistered = host === undefined
  return present({
    uri: isRegistered ? undefined : sipAddress({ host, port: options?.port ?? auth.port }),
    username: isRegistered ? (auth.auth_user ?? '') : undefined,
    realm: isRegistered ? realm : undefined,
  })
}

/** Failover destination of a server: a number, or a user at a host. `uri` has no user. */
const failoverOf = ({ e164, sip }: NonNullable<Did['failover']>) => {
  const place = e164 === undefined && sip !== undefined ? sipPlaceIn(sip) : undefined
  return present({
    number: e164 === undefined ? undefined : normalizeNumber(e164),
    uri: place && sipAddress({ ...place, user: undefined }),
    user: place?.user,
  })
}

export type TrunkTarget = ReturnType<typeof trunkTargetOf>

export const trunkTargetOf = (
  { trunkId, accountId, realm }: { trunkId: string; accountId: string; realm: string },
  { number, did, server, index }: ListedDid,
) => {
  const { inbound_format: format = 'npan', ...options } = server.options ?? {}
  const headers: Readonly<Record<string, string>> = Object.assign({}, ...(options.sip_headers ?? []))
  const failover = did.failover ?? options.failover
  return {
    type: 'trunk' as const,
    trunk_id: trunkId,
    server: serverName(server, index),
    account_id: accountId,
    // In the format of the server.
    number: format === 'username' ? (server.auth.auth_user ?? number) : formats[format](number),
    ...contactOfServer(server, realm),
    delay_s: options.delay ?? 0,
    ...present({
      timeout_s: options.timeout,
      progress_timeout_s: options.progress_timeout,
      headers: Object.keys(headers).length > 0 ? headers : undefined,
      failover: failover && failoverOf(failover),
      /** The number is the user name of the server, which its customer chooses. */
      isRenamed: format === 'username' || undefined,
    }),
  }
}
