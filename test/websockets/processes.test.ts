// WebSockets of several processes, and of one that ends.
import { afterEach, describe, expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { makePlace, type Place } from '../support/servers/databases.ts'
import { engines } from '../support/servers/postgres.ts'
import { removeDataDir, type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { pathOfSockets, useWebSockets } from '../support/servers/web-sockets.ts'
import { openSession, type Session } from '../support/world/session.ts'

const places: Place[] = []
const servers: ServerProcess[] = []
const sessions: Session[] = []

const start = async (databaseUrl: string | undefined) => {
  const server = await startServerProcess({ CROSSPOINT_DATABASE_URL: databaseUrl })
  servers.push(server)
  return server
}

const sign = async (server: ServerProcess, before?: Session) => {
  const session = await openSession(server, before)
  sessions.push(session)
  return session
}

afterEach(async () => {
  for (const session of sessions.splice(0)) session.close()
  const ended = servers.splice(0)
  await Promise.all(ended.map((server) => server.end('SIGKILL')))
  for (const server of ended) removeDataDir(server)
  for (const place of places.splice(0)) await place.remove()
})

const { connect } = useWebSockets(() => 0)

const connectTo = (server: ServerProcess) => connect(pathOfSockets, {}, 'ws', server.port)

const binding = 'object.doc_created.user'

describe('a server that shuts down', () => {
  it('takes leave of its WebSockets with 1001 and ends', async () => {
    const server = await start(undefined)
    const talk = await connectTo(server)
    expect((await talk.ask('ping', undefined)).status).toBe('success')
    const deaf = await connectTo(server)
    deaf.socket.pause()
    const ended = server.end('SIGINT')
    expect(await talk.closed()).toEqual({ code: 1001, reason: 'the server is shutting down' })
    expect(await ended).toBe(0)
    expect(server.faults()).toEqual([])
  })
})

describe.runIf(engines.includes('postgres'))('two processes on one PostgreSQL', () => {
  const two = async () => {
    const place = await makePlace('postgres', { isUpgraded: true })
    places.push(place)
    const [here, there] = [await start(place.databaseUrl), await start(place.databaseUrl)]
    const session = await sign(here)
    return { here, there, session, other: await sign(there, session) }
  }

  const makeUser = async (
    { admin, accountId }: { admin: Session['admin']; accountId: string },
    name: string,
  ) => {
    const made = await admin.put(`/v2/accounts/${accountId}/users`, {
      first_name: 'A',
      last_name: 'B',
      username: name,
    })
    expect(made.status).toBe(201)
    return made.data.id as string
  }

  it('tell each others clients what they commit, and who is connected', async () => {
    const { here, there, session, other } = await two()
    const account = (await session.admin.put('/v2/accounts', { name: 'Shared', realm: 'shared.test' })).data
    const talk = await connectTo(there)
    const command = { account_id: account.id, binding }
    expect((await talk.ask('subscribe', session.token, command)).status).toBe('success')
    const ids: string[] = []
    for (let count = 0; count < 20; count += 1) {
      const writer = count % 2 === 0 ? session : other
      ids.push(await makeUser({ admin: writer.admin, accountId: account.id }, `user${count}`))
    }
    expect((await talk.heard(20)).map(({ data }) => data.id)).toEqual(ids)
    const list = `/v2/accounts/${session.masterId}/websockets`
    const rows = (await session.admin.get(list)).data
    expect(rows).toMatchObject([{ bindings: [binding], source: '127.0.0.1' }])
    const near = await connectTo(here)
    await near.ask('ping', session.token)
    expect((await other.admin.get(list)).data).toHaveLength(2)
    await there.end('SIGKILL')
    const left = (await session.admin.get(list)).data
    expect(left).toMatchObject([{ bindings: [] }])
    expect(left).toHaveLength(1)
  })

  it('end a subscription here when its token is ended there', async () => {
    const { there, session } = await two()
    const talk = await connectTo(there)
    expect(
      (await talk.ask('subscribe', session.token, { account_id: session.masterId, binding })).status,
    ).toBe('success')
    expect((await session.admin.delete('/v2/token_auth')).status).toBe(200)
    await eventually(
      () => talk.said.at(-1),
      (last) => last?.data.errors?.[0] === 'failed to authenticate token',
    )
  })
})
