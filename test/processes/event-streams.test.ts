// Streams of events where servers begin and end, and where there are several of them.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { describeAnyEngine, makePlace, type Place } from '../support/servers/databases.ts'
import { openEventStream } from '../support/servers/event-stream.ts'
import { engines } from '../support/servers/postgres.ts'
import { startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

let place: Place

const start = () => startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)

const feedOf = ({ masterId }: Session) => `/v2/accounts/${masterId}/events?type=user.created`

const addUser = async ({ admin, masterId }: Session, name: string) => {
  const answer = await admin.put(`/v2/accounts/${masterId}/users`, { first_name: name, last_name: 'X' })
  expect(answer.status, answer.text).toBe(201)
  return answer.data.id as string
}

const idIn = ({ data }: { data: string }) => JSON.parse(data).record.id as string

afterEach(() => place.remove())

describeAnyEngine('a server that shuts down', (engine) => {
  beforeEach(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
  })

  it('ends its streams, which continue at the next one where they were', async () => {
    const server = await start()
    const session = await openSession(server)
    await freeRequests(session)
    const stream = await openEventStream(server.port, feedOf(session), { 'x-auth-token': session.token })
    const first = await addUser(session, 'First')
    const last = (await stream.come(2)).at(-1)
    const second = await addUser(session, 'Second')
    const [code] = await Promise.all([server.end(), stream.ended])
    expect(code).toBe(0)
    session.close()
    const next = await start()
    const resumed = await openEventStream(next.port, feedOf(session), {
      'x-auth-token': session.token,
      'last-event-id': last?.id ?? '',
    })
    await resumed.come(1)
    expect(last && idIn(last)).toBe(first)
    expect(resumed.messages.map(idIn)).toEqual([second])
    await Promise.all([next.end(), resumed.ended])
  })
})

describe.runIf(engines.includes('postgres'))('two servers of one PostgreSQL', () => {
  beforeEach(async () => {
    place = await makePlace('postgres', { isUpgraded: true })
  })

  it('tell their streams what the other one commits, in one order', async () => {
    const servers = [await start(), await start()] as const
    const session = await openSession(servers[0])
    await freeRequests(session)
    const other = await openSession(servers[1], session)
    const streams = await Promise.all(
      servers.map(({ port }) =>
        openEventStream(port, `${feedOf(session)}&after=now`, { 'x-auth-token': session.token }),
      ),
    )
    const ids = await Promise.all(
      Array.from({ length: 20 }, (_, index) => addUser(index % 2 === 0 ? session : other, `U${index}`)),
    )
    const told = await Promise.all(streams.map((stream) => stream.come(ids.length)))
    expect(told[0]?.map(idIn)).toEqual(told[1]?.map(idIn))
    expect(told[0]?.map(idIn).toSorted()).toEqual(ids.toSorted())
    session.close()
    other.close()
    await Promise.all([...servers.map((server) => server.end()), ...streams.map(({ ended }) => ended)])
  })
})
