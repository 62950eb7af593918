// No listener misses an event: servers are killed at random while clients write, streams follow and webhooks
// are called.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createChance, seed } from '../fuzz/chance.ts'
import { eventually } from '../support/run/eventually.ts'
import { makePlace, type Place } from '../support/servers/databases.ts'
import { type EventStream, openEventStream } from '../support/servers/event-stream.ts'
import { type HookCall, type HookReceiver, startHookReceiver } from '../support/servers/hook-receiver.ts'
import { engines } from '../support/servers/postgres.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

const changes = 50_000
const accountCount = 60
const hookCount = 50
const followersOfEach = 5
const writers = 8
const kills = 5 + Math.floor(changes / 4000)
const retryMs = 50
// As long as it takes on a small machine that is busy with other things.
const timeout = 300_000 + changes * 30

/** An event as far as this test looks at it. */
interface Told {
  sequence: string
  type: string
  record: { id: string }
  after?: { first_name?: string }
}

let place: Place
let receiver: HookReceiver
/** Those that live; one that is killed is not among them until its successor is ready. */
let servers: ServerProcess[]

const startOne = async () => {
  const server = await startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)
  servers.push(server)
  return server
}

/** One server is killed, and another one starts. */
const killOne = async (turn: number) => {
  const [victim] = servers.splice(turn % servers.length, 1)
  victim?.process.kill('SIGKILL')
  if (victim) await once(victim.process, 'exit')
  await startOne()
}

const { pick, below } = createChance(seed)

const anyServer = () => pick(servers)

/** Repeats a request until a response confirms it. */
const insist = async (token: string, method: string, path: string, data: object) => {
  for (;;) {
    try {
      const answer = await fetch(`${anyServer().url}${path}`, {
        method,
        headers: { 'content-type': 'application/json', 'x-auth-token': token },
        body: JSON.stringify({ data }),
      })
      const { data: told } = (await answer.json()) as { data: { id: string } }
      if (answer.ok) return told
      // Only a lost race and a server that ends may cause errors.
      expect([409, 503], `${method} ${path}: ${JSON.stringify(told)}`).toContain(answer.status)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      await sleep(retryMs)
    }
  }
}

/**
 * Follows a feed from its beginning, at any server that runs; each connection continues after the last event.
 */
const keepFollowing = (path: string, token: string) => {
  const sequences: string[] = []
  let isOver = false
  let close: EventStream['close'] = () => undefined
  const follow = async () => {
    const last = sequences.at(-1)
    const headers = { 'x-auth-token': token, ...(last === undefined ? {} : { 'last-event-id': last }) }
    const stream = await openEventStream(anyServer().port, path, headers, ({ id, event }) => {
      // Only the places of events are kept, because there are many.
      stream.messages.length = 0
      if (event !== 'lagging' && id !== undefined) sequences.push(id)
    })
    close = stream.close
    expect(stream.response.statusCode).toBe(200)
    await stream.ended
  }
  const run = async () => {
    while (!isOver) {
      await follow().catch(() => undefined)
      if (!isOver) await sleep(retryMs)
    }
  }
  const running = run()
  return {
    sequences,
    async end() {
      isOver = true
      close()
      await running
    },
  }
}

/** The whole feed of an account, read in pages. */
const wholeFeed = async (token: string, path: string): Promise<Told[]> => {
  const events: Told[] = []
  for (let key: string | undefined = ''; key !== undefined; ) {
    const answer = await fetch(
      `${anyServer().url}${path}&page_size=1000${key === '' ? '' : `&start_key=${key}`}`,
      { headers: { 'x-auth-token': token } },
    )
    const body = (await answer.json()) as { data: Told[]; next_start_key?: string }
    expect(answer.status).toBe(200)
    events.push(...body.data)
    key = body.next_start_key
  }
  return events
}

const eventId = ({ headers }: HookCall) => String(headers['x-event-id'])

/** The events of a receiver as it heard each of them first. */
const firstHeard = (calls: readonly HookCall[]) => [...new Set(calls.map(eventId))]

describe.runIf(engines.includes('postgres'))('servers that are killed while they are listened to', () => {
  beforeEach(async () => {
    place = await makePlace('postgres', { isUpgraded: true })
    receiver = await startHookReceiver()
    servers = []
  })

  afterEach(async () => {
    await Promise.all(servers.map((server) => server.end()))
    await receiver.close()
    await place.remove()
  })

  /** A reseller with customers that have one user each; hooks for most of them. */
  const setUp = async ({ admin, masterId }: Session) => {
    const must = async (method: 'put' | 'patch', path: string, data: object) => {
      const answer = await admin[method](path, data)
      expect(answer.status, answer.text).toBeLessThan(300)
      return answer.data.id as string
    }
    await must('patch', '/v2/system_configs/crossbar', { default: { allowed_private_hosts: ['127.0.0.1'] } })
    const resellerId = await must('put', `/v2/accounts/${masterId}`, {
      name: 'Reseller',
      realm: 'r.example.com',
    })
    const customers: { accountId: string; userId: string }[] = []
    for (let index = 0; index < accountCount; index += 1) {
      const realm = `c${index}.example.com`
      const accountId = await must('put', `/v2/accounts/${resellerId}`, { name: `Customer ${index}`, realm })
      const user = { first_name: '0', last_name: 'X' }
      const userId = await must('put', `/v2/accounts/${accountId}/users`, user)
      customers.push({ accountId, userId })
    }
    for (const { accountId } of customers.slice(0, hookCount)) {
      const hook = {
        name: 'H',
        uri: `${receiver.url}/${accountId}`,
        hook: 'user.edited',
        format: 'json',
        version: 'v2',
      }
      await must('put', `/v2/accounts/${accountId}/webhooks`, hook)
    }
    return { resellerId, customers }
  }

  it('have each stream told each event once and in order, and each webhook each event', {
    timeout,
  }, async () => {
    await startOne()
    await startOne()
    const session = await openSession(servers[0] as ServerProcess)
    await freeRequests(session)
    const { resellerId, customers } = await setUp(session)
    const { token, masterId } = session
    const feedOf = (accountId: string) => `/v2/accounts/${accountId}/events?type=user.*`
    const paths = [
      ...customers.slice(0, 2 * followersOfEach).map(({ accountId }) => feedOf(accountId)),
      ...Array.from({ length: followersOfEach }, () => `${feedOf(resellerId)}&include_subaccounts=true`),
      ...Array.from({ length: followersOfEach }, () => `${feedOf(masterId)}&include_subaccounts=true`),
    ]
    const followers = paths.map((path) => keepFollowing(path, token))

    const acknowledged = new Map<string, Set<string>>()
    let made = 0
    let killed = 0
    const write = async (writer: number) => {
      const own = customers.filter((_, index) => index % writers === writer)
      while (made < changes) {
        made += 1
        const { accountId, userId } = own[made % own.length] as (typeof own)[number]
        const name = String(made)
        await insist(token, 'PATCH', `/v2/accounts/${accountId}/users/${userId}`, { first_name: name })
        acknowledged.set(userId, (acknowledged.get(userId) ?? new Set()).add(name))
      }
    }
    const kill = async () => {
      for (; killed < kills; killed += 1) {
        await eventually(
          () => made,
          (count) => count >= ((killed + 1) * changes) / (kills + 1),
          timeout,
        )
        await killOne(below(2))
      }
    }
    await Promise.all([kill(), ...Array.from({ length: writers }, (_, writer) => write(writer))])

    const all = await wholeFeed(token, `${feedOf(masterId)}&include_subaccounts=true`)
    const names = Map.groupBy(all, ({ record }) => record.id)
    for (const [userId, told] of acknowledged) {
      const found = new Set((names.get(userId) ?? []).map(({ after }) => after?.first_name))
      expect([...told].filter((name) => !found.has(name))).toEqual([])
    }
    for (const [index, follower] of followers.entries()) {
      const whole = (await wholeFeed(token, paths[index] as string)).map(({ sequence }) => sequence)
      await eventually(
        () => follower.sequences.length,
        (count) => count >= whole.length,
        timeout,
      )
      expect(follower.sequences).toEqual(whole)
    }
    for (const { accountId } of customers.slice(0, hookCount)) {
      const whole = await wholeFeed(token, `/v2/accounts/${accountId}/events?type=user.edited`)
      const sequences = whole.map(({ sequence }) => sequence)
      await eventually(
        () => new Set(receiver.to(`/${accountId}`).map(eventId)).size,
        (count) => count >= sequences.length,
        timeout,
      )
      // One record each: its order is that of the feed.
      expect(firstHeard(receiver.to(`/${accountId}`))).toEqual(sequences)
    }
    await Promise.all(followers.map((follower) => follower.end()))
    session.close()
  })
})
