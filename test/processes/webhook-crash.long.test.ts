// No event is lost or delivered out of order, also if the server is killed between two deliveries or several processes deliver.
import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { describeEngines, makePlace, type Place } from '../support/servers/databases.ts'
import {
  answerWith,
  type HookCall,
  type HookReceiver,
  startHookReceiver,
} from '../support/servers/hook-receiver.ts'
import { engines } from '../support/servers/postgres.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

const eventId = ({ headers }: HookCall) => String(headers['x-event-id'])

/** What a receiver heard first of each event, by record. */
const byRecord = (calls: readonly HookCall[]) => {
  const first = new Map(calls.toReversed().map((call) => [eventId(call), call]))
  const inOrder = calls.filter((call) => first.get(eventId(call)) === call)
  return Map.groupBy(inOrder, ({ json }) => String(json.id))
}

const makeHook = async ({ admin, masterId }: Session, uri: string) => {
  const answer = await admin.put(`/v2/accounts/${masterId}/webhooks`, {
    name: 'A hook',
    uri,
    hook: 'user.*',
    format: 'json',
  })
  expect(answer.status, answer.text).toBe(201)
}

const allowLoopback = async ({ admin }: Session) => {
  const answer = await admin.patch('/v2/system_configs/crossbar', {
    default: { allowed_private_hosts: ['127.0.0.1'] },
  })
  expect(answer.status, answer.text).toBe(200)
}

/** Creates a user and changes it this number of times. Returns its ID. */
const changeUser = async ({ admin, masterId }: Session, changes: number) => {
  const users = `/v2/accounts/${masterId}/users`
  const made = await admin.put(users, { first_name: 'A', last_name: 'B' })
  for (let count = 1; count <= changes; count += 1) {
    const answer = await admin.patch(`${users}/${made.data.id}`, { first_name: `A${count}` })
    expect(answer.status, answer.text).toBe(200)
  }
  return made.data.id as string
}

let place: Place
let receiver: HookReceiver

const start = async () => {
  const server = await startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)
  return server
}

const end = async (server: ServerProcess) => expect(await server.end()).toBe(0)

const setUp = async (engine: 'sqlite' | 'postgres') => {
  place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
  receiver = await startHookReceiver()
}

afterEach(async () => {
  await receiver.close()
  await place.remove()
})

describeEngines('a server that sends webhooks', (engine) => {
  beforeEach(() => setUp(engine))

  it('sends after kill -9 what it has not sent, in the order of each record', async () => {
    const server = await start()
    const session = await openSession(server)
    await freeRequests(session)
    await allowLoopback(session)
    await makeHook(session, `${receiver.url}/hook`)
    // Some events are delivered, and then the receiver no longer answers.
    receiver.answers((call, response) => {
      if (receiver.calls.length <= 5) answerWith(200)(call, response)
    })
    const ids = await Promise.all(Array.from({ length: 6 }, () => changeUser(session, 5)))
    await eventually(
      () => receiver.calls.length,
      (count) => count > 5,
    )
    server.process.kill('SIGKILL')
    await once(server.process, 'exit')
    session.close()

    receiver.answers(answerWith(200))
    const next = await start()
    const heard = await eventually(
      () => byRecord(receiver.calls),
      (found) => ids.every((id) => (found.get(id)?.length ?? 0) === 6),
    )
    for (const id of ids) {
      const told = (heard.get(id) ?? []).map(eventId)
      expect(told).toEqual(told.toSorted())
    }
    await end(next)
  })
})

describe.runIf(engines.includes('postgres'))('several servers of one store', () => {
  beforeEach(() => setUp('postgres'))

  it('send each event once between them, and continue when the one at work is killed', async () => {
    const [first, second] = [await start(), await start()]
    const session = await openSession(first)
    await freeRequests(session)
    await allowLoopback(session)
    for (const path of ['a', 'b', 'c', 'd']) await makeHook(session, `${receiver.url}/${path}`)
    const other = await openSession(second, session)
    const ids = await Promise.all([
      ...Array.from({ length: 4 }, () => changeUser(session, 4)),
      ...Array.from({ length: 4 }, () => changeUser(other, 4)),
    ])
    const wanted = (count: number) => () =>
      ['/a', '/b', '/c', '/d'].every((path) => receiver.to(path).length >= count)
    await eventually(wanted(ids.length * 5), Boolean)
    for (const path of ['/a', '/b', '/c', '/d']) {
      const calls = receiver.to(path)
      expect(new Set(calls.map(eventId)).size).toBe(calls.length)
    }
    first.process.kill('SIGKILL')
    await once(first.process, 'exit')
    session.close()
    const later = await changeUser(other, 4)
    // An event that was sent a moment before the kill may be sent again, so only a later change is counted.
    const toldOfLater = (path: string) => (byRecord(receiver.to(path)).get(later) ?? []).map(eventId)
    await eventually(
      () => ['/a', '/b', '/c', '/d'].map((path) => toldOfLater(path).length),
      (counts) => counts.every((count) => count >= 5),
    )
    for (const path of ['/a', '/b', '/c', '/d']) {
      const told = toldOfLater(path)
      expect(told).toHaveLength(5)
      expect(told).toEqual(told.toSorted())
    }
    other.close()
    await end(second)
  })
})
