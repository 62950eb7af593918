// A real server, a real edge, and an account with phones.

import type { Json } from '../../../src/lib/json.ts'
import { removeDataDir, type ServerProcess, startServerProcess } from '../servers/server-process.ts'
import { type SipEdge, startSipEdge } from '../servers/sip-edge.ts'
import { freeRequests, openSession, type Session } from '../world/session.ts'
import { openPhone, type Phone, type PhoneFacts } from './edge-phone.ts'

const must = <T extends { status: number; text: string }>(answer: T): T => {
  if (answer.status >= 300) throw new Error(answer.text)
  return answer
}

export interface SipPlace {
  server: ServerProcess
  session: Session
  key: string
}

const plenty = { registrations: 10_000, invites: 10_000, total_packets: 10_000 }
const roomy = { per_minute: plenty, per_second: plenty }

/** A server with a key for its edges, requests that cost nothing, and packet limits that only a test's own come below. */
export const openSipPlace = async (): Promise<SipPlace> => {
  const server = await startServerProcess()
  const session = await openSession(server)
  await freeRequests(session)
  const limits = { default: { rate_limits: { account: roomy, device: roomy } } }
  must(await session.admin.put('/v2/system_configs/frontier', limits))
  const made = must(
    await session.admin.put(`/v2/accounts/${session.masterId}/api_keys`, { name: 'Edge', scopes: ['*'] }),
  )
  return { server, session, key: made.data.key }
}

export const edgeOf = (
  { server, key }: SipPlace,
  values: Parameters<typeof startSipEdge>[0]['values'] = {},
) => startSipEdge({ server: server.url, key, values })

/** Connects the server to the edge, which receives notices about stale data from now on. */
export const tellEdge = async ({ session }: SipPlace, edge: SipEdge) => {
  const kamailio = { rpc_urls: [`http://127.0.0.1:${edge.rpcPort}/RPC`], secret: edge.rpcSecret }
  must(await session.admin.put('/v2/system_configs/switch', { default: { adapter: 'kamailio', kamailio } }))
}

/** A server with an edge that it knows. */
export const openPlaceWithEdge = async () => {
  const place = await openSipPlace()
  const edge = await edgeOf(place)
  await tellEdge(place, edge)
  return { place, edge }
}

interface Opened {
  place: SipPlace
  /** Undefined: it did not start. */
  edge: SipEdge | undefined
  phones: readonly Pick<Phone, 'close'>[]
}

export const closeSipPlace = async ({ place, edge, phones }: Opened) => {
  for (const phone of phones) phone.close()
  await edge?.end()
  place.session.close()
  await place.server.end()
  removeDataDir(place.server)
}

let made = 0

/** A new account with a separate realm. */
export const makeAccount = async ({ session }: SipPlace) => {
  made += 1
  const realm = `realm-${made}-${process.pid}.test`
  const { data } = must(await session.admin.put(`/v2/accounts`, { name: `Account ${realm}`, realm }))
  return { id: data.id as string, realm, path: `/v2/accounts/${data.id}` }
}

type Account = Awaited<ReturnType<typeof makeAccount>>

export const makeDevice = async (
  { session }: SipPlace,
  account: Account,
  username: string,
  more: Json = {},
) => {
  const password = `word-of-${username}`
  const device = { name: username, sip: { username, password }, ...more }
  const { data } = must(await session.admin.put(`${account.path}/devices`, device))
  return { id: data.id as string, username, password, path: `${account.path}/devices/${data.id}` }
}

/** A device and the phone that signs in as it. */
export const makePhone = async (
  place: SipPlace,
  edge: SipEdge,
  account: Account,
  { username, ...more }: Pick<PhoneFacts, 'username'> & Partial<PhoneFacts>,
  ofDevice: Json = {},
) => {
  const device = await makeDevice(place, account, username, ofDevice)
  const phone = await openPhone({
    edgePort: edge.port,
    realm: account.realm,
    username,
    password: device.password,
    ...more,
  })
  return { device, phone }
}
