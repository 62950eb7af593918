// Fills a store through the API, kind by kind, and reports the cost of each.
import { hash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { systemClock } from '../src/lib/clock.ts'
import { gregorianNow } from '../src/lib/gregorian.ts'
import { cdrDocument } from './cdr-records.ts'
import { type Place, type RunningServer, restingMemoryOf, settled, startServer } from './server.ts'
import { type WorkKind, workKinds } from './sizing-constants.ts'
import { type MemoryReading, type Meter, openMeter, type Reading } from './sizing-meter.ts'
import { type Holdings, usualHabits } from './sizing-model.ts'
import { accountData, call, freeRequests, inParallel, newUserData, signIn, untold } from './stage.ts'

/** What is made and asked at a point. */
export interface Point extends Holdings {
  signIn: number
  get: number
  page: number
}

export interface Taken {
  count: number
  tableBytes: number
  /** A part of them. */
  tallyBytes: number
  serverSeconds: number
  databaseSeconds: number
}

export interface Measurement {
  empty: Reading
  full: Reading
  taken: Record<WorkKind, Taken>
  tallies: Reading['tallies']
  /** The write-ahead log when it was longest after a kind was made. */
  logBytes: number
  atRest: MemoryReading
  afterWork: MemoryReading
}

interface Stage {
  server: RunningServer
  token: string
  masterId: string
  point: Point
  accountIds: string[]
  /** Where each user is: account and id. */
  users: { accountId: string; id: string }[]
}

const daySeconds = 86_400
const rowsOfPage = 50
const legsOfRequest = 20_000
const firstOfNextKind = 100_000_000
// None of the records is in the future.
const restDays = 2

const range = (count: number) => Array.from({ length: count }, (_, index) => index)

const onAccount = (stage: Stage, index: number) => stage.accountIds[index % stage.accountIds.length] as string

const makeAccounts = ({ server, token, masterId, point, accountIds }: Stage) =>
  inParallel(range(point.account), async (index) => {
    const path = `/v2/accounts/${masterId}?${untold}`
    accountIds.push((await call(server.port, 'PUT', path, token, accountData(index))).data.id)
  })

// The first account has enough of them for a page.
const makeUsers = (stage: Stage) =>
  inParallel(range(stage.point.user), async (index) => {
    const accountId = onAccount(stage, index < rowsOfPage ? 0 : index)
    const path = `/v2/accounts/${accountId}/users?${untold}`
    const { data } = await call(stage.server.port, 'PUT', path, stage.token, newUserData(`user${index}`))
    stage.users.push({ accountId, id: data.id })
  })

const deviceData = (index: number) => ({
  name: `Desk phone ${index}`,
  device_type: 'sip_device',
  mac_address: index.toString(16).padStart(12, '0'),
  sip: { username: `phone_${index}`, password: `secret-${index}`, method: 'password' },
  media: { audio: { codecs: ['OPUS', 'G722', 'PCMA'] } },
  provision: { endpoint_brand: 'yealink', endpoint_family: 't4x', endpoint_model: 't46u' },
})

const makeDevices = (stage: Stage) =>
  inParallel(range(stage.point.device), async (index) => {
    const path = `/v2/accounts/${onAccount(stage, index)}/devices`
    await call(stage.server.port, 'PUT', path, stage.token, deviceData(index))
  })

const makeNumbers = (stage: Stage) =>
  inParallel(range(stage.point.number), async (index) => {
    const path = `/v2/accounts/${onAccount(stage, index)}/phone_numbers/%2B1${4_155_000_000 + index}`
    await call(stage.server.port, 'PUT', path, stage.token, {})
  })

const change = (stage: Stage) =>
  inParallel(range(stage.point.change), async (index) => {
    const { accountId, id } = stage.users[index % stage.users.length] as Stage['users'][number]
    const path = `/v2/accounts/${accountId}/users/${id}`
    await call(stage.server.port, 'PATCH', path, stage.token, { department: `Department ${index}` })
  })

const spread = (value: number) => Math.imul(value ^ (value >>> 16), 0x45d9f3b)

/** A number for a number, every bit of it by chance: the calls of a moment are those of any accounts. */
const mixed = (index: number) => {
  const value = spread(spread(index + 1))
  return (value ^ (value >>> 16)) >>> 0
}

const legKinds = ['leg', 'chargedLeg'] as const
type LegKind = (typeof legKinds)[number]

interface Legs {
  kind: LegKind
  /** When the first one is made. */
  begun: number
}

/** When a leg is made: evenly in the busy hours of the days. */
const createdAt = ({ days, ...point }: Point, index: number, { kind, begun }: Legs) => {
  const busySeconds = usualHabits.busyHoursADay * 3600
  const at = Math.floor((index * days * busySeconds) / point[kind])
  return begun + Math.floor(at / busySeconds) * daySeconds + (at % busySeconds)
}

// The two legs of a call are of the same account, user, device and second.
const legAt = ({ point, accountIds }: Stage, index: number, legs: Legs) => {
  const number = index + legKinds.indexOf(legs.kind) * firstOfNextKind
  const call = Math.floor(number / 2)
  const place = mixed(call) % accountIds.length
  const accountId = accountIds[place] as string
  const document = cdrDocument(number, accountId, createdAt(point, index - (index % 2), legs))
  const oneOf = (name: string, all: number) =>
    hash(
      'md5',
      `${name} ${place} ${mixed(call + 500_000_009) % Math.max(1, Math.round(all / accountIds.length))}`,
      'hex',
    )
  const seconds = Math.max(1, document.duration_seconds ?? 0)
  const billing = legs.kind === 'leg' ? 'none' : 'per_minute'
  return {
    ...document,
    duration_seconds: seconds,
    billing_seconds: seconds,
    custom_channel_vars: {
      ...document.custom_channel_vars,
      owner_id: oneOf('user', point.user),
      authorizing_id: oneOf('device', point.device),
      account_billing: billing,
      reseller_billing: billing,
    },
  }
}

const sendLegs = ({ server, token }: Stage, legs: Iterable<object>) =>
  new Promise<number>((resolve, reject) => {
    const headers = { 'content-type': 'application/x-ndjson', 'x-auth-token': token }
    const { port } = server
    const outgoing = request({ port, method: 'PUT', path: '/v2/cdrs', headers }, async (incoming) => {
      const text = (await incoming.setEncoding('utf8').toArray()).join('')
      resolve(JSON.parse(text).data?.accepted ?? reject(new Error(text.slice(0, 500))))
    })
    outgoing.on('error', reject)
    const lines = function* () {
      for (const leg of legs) yield `${JSON.stringify(leg)}\n`
    }
    pipeline(Readable.from(lines()), outgoing).catch(reject)
  })

const makeLegs = (kind: LegKind) => async (stage: Stage) => {
  const { point } = stage
  const today = Math.floor(gregorianNow(systemClock) / daySeconds) * daySeconds
  const begun = today - (point.days + restDays) * daySeconds
  for (let from = 0; from < point[kind]; from += legsOfRequest) {
    const indices = range(Math.min(legsOfRequest, point[kind] - from))
    const accepted = await sendLegs(
      stage,
      indices.map((index) => legAt(stage, from + index, { kind, begun })),
    )
    if (accepted !== indices.length) throw new Error(`${accepted} of ${indices.length} records were taken`)
  }
}

const signInAgain = (stage: Stage) =>
  inParallel(range(stage.point.signIn), async () => {
    await signIn(stage.server)
  })

const readRecords = ({ server, token, point, accountIds, users }: Stage) => {
  const paths = [
    ...accountIds.map((id) => `/v2/accounts/${id}`),
    ...users.map(({ accountId, id }) => `/v2/accounts/${accountId}/users/${id}`),
  ]
  return inParallel(range(point.get), async (index) => {
    await call(server.port, 'GET', paths[index % paths.length] as string, token)
  })
}

const readPages = ({ server, token, point, accountIds }: Stage) =>
  inParallel(range(point.page), async () => {
    await call(server.port, 'GET', `/v2/accounts/${accountIds[0]}/users?page_size=${rowsOfPage}`, token)
  })

const works: Record<WorkKind, (stage: Stage) => Promise<unknown>> = {
  account: makeAccounts,
  user: makeUsers,
  device: makeDevices,
  number: makeNumbers,
  leg: makeLegs('leg'),
  chargedLeg: makeLegs('chargedLeg'),
  change,
  signIn: signInAgain,
  get: readRecords,
  page: readPages,
}

/** The figures once nothing is left to do for what was asked. */
const readSettled = async (meter: Meter) => {
  // The database may have others to work for.
  await settled(async () => (await meter.spent()).serverSeconds)
  return meter.read()
}

const between = (count: number, before: Reading, after: Reading): Taken => ({
  count,
  tableBytes: after.tableBytes - before.tableBytes,
  tallyBytes: after.tallies.bytes - before.tallies.bytes,
  serverSeconds: after.serverSeconds - before.serverSeconds,
  databaseSeconds: after.databaseSeconds - before.databaseSeconds,
})

const takeAll = async (stage: Stage, meter: Meter, empty: Reading) => {
  const taken: Partial<Record<WorkKind, Taken>> = {}
  let reading = empty
  let logBytes = empty.logBytes
  for (const kind of workKinds) {
    const before = reading
    await works[kind](stage)
    reading = await readSettled(meter)
    taken[kind] = between(stage.point[kind], before, reading)
    logBytes = Math.max(logBytes, reading.logBytes)
  }
  return { taken: taken as Record<WorkKind, Taken>, full: reading, logBytes }
}

/** Fills a new store and asks for what is in it. */
export const measurePoint = async (place: Place, point: Point): Promise<Measurement> => {
  await mkdir(place.dataDir, { recursive: true })
  // The first start makes the tables: what rests is measured of the second.
  await (await startServer(place)).stop()
  const server = await startServer(place)
  const meter = await openMeter(place, server)
  try {
    await restingMemoryOf(server.pid)
    const atRest = await meter.memory()
    const { token, masterId } = await freeRequests(server)
    const empty = await readSettled(meter)
    const stage: Stage = { server, token, masterId, point, accountIds: [], users: [] }
    const { taken, full, logBytes } = await takeAll(stage, meter, empty)
    const afterWork = await meter.memory()
    const tallies = {
      rows: full.tallies.rows - empty.tallies.rows,
      bytes: full.tallies.bytes - empty.tallies.bytes,
    }
    return { empty, full, taken, tallies, logBytes, atRest, afterWork }
  } finally {
    await meter.close()
    await server.stop()
  }
}
