// Two servers on a database that fails over, and clients who insist on what they wish for: devices, call records, top-ups.
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { systemClock } from '../../src/lib/clock.ts'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import type { Json } from '../../src/lib/json.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import type { Answer } from './client.ts'
import { eventually } from './eventually.ts'
import { removeDataDir, type ServerProcess, startServerProcess } from './server-process.ts'
import { freeRequests, openSession, type Session } from './session.ts'

const clients = 6
const legsPerBody = 10
const wishesBefore = 30
const wishesAfter = 30
const patienceMs = 60_000

interface Wish {
  kind: 'device' | 'legs' | 'topup'
  name: string
}

interface Granted extends Wish {
  answer: Answer
  failures: number
}

const kinds = ['device', 'legs', 'topup'] as const

const isGranted = ({ status }: Answer) => status === 200 || status === 201
/** Whoever is told so asks again: the store is away, or another try of the same is under way. */
const isPassing = ({ status }: Answer) => status >= 500 || status === 409

const startServers = async (databaseUrl: string) => {
  const environment = { CROSSPOINT_DATABASE_URL: databaseUrl }
  const first = await startServerProcess(environment)
  const session = await openSession(first)
  await freeRequests(session)
  const second = await startServerProcess(environment)
  return {
    servers: [first, second] as readonly ServerProcess[],
    sessions: [session, await openSession(second, session)] as readonly Session[],
  }
}

export type FailoverStorm = Awaited<ReturnType<typeof openFailoverStorm>>

export const openFailoverStorm = async (databaseUrl: string) => {
  const { servers, sessions } = await startServers(databaseUrl)
  const [{ admin: firstAdmin }] = sessions as [Session]
  const made = await firstAdmin.put('/v2/accounts', { name: 'Customer', realm: 'customer.test' })
  const accountPath = `/v2/accounts/${made.data.id}`
  const granted: Granted[] = []
  const backAfter: number[] = []
  let rounds = 0

  const legsOf = (name: string): Json[] =>
    Array.from({ length: legsPerBody }, (_, index) => ({
      call_id: `${name}-${index}`,
      timestamp: gregorianNow(systemClock),
      custom_channel_vars: { account_id: made.data.id },
    }))

  /** Records carry their own identity; the others a key. */
  const send = ({ admin }: Session, { kind, name }: Wish, legs: Json[]) => {
    const options = { headers: { 'idempotency-key': name } }
    if (kind === 'device') return admin.put(`${accountPath}/devices`, { name }, options)
    if (kind === 'topup') return admin.post(`${accountPath}/services/topup`, { amount: 0.01 }, options)
    return admin.put('/v2/cdrs', legs)
  }

  const insist = async (wish: Wish, turn: number): Promise<Granted> => {
    const legs = legsOf(wish.name)
    for (let failures = 0; ; failures += 1) {
      const session = sessions[(turn + failures) % sessions.length] as Session
      const answer = await send(session, wish, legs)
      if (isGranted(answer)) return { ...wish, answer, failures }
      if (!isPassing(answer)) throw new Error(`${wish.kind}: ${answer.text}`)
      await pause(25)
    }
  }

  /** Clients that wish for one thing after the other until they are told to end, and insist on each. */
  const begin = (round: number) => {
    let isOver = false
    let wishes = 0
    const client = async (number: number) => {
      while (!isOver) {
        const turn = wishes++
        const kind = kinds[turn % kinds.length] ?? 'device'
        granted.push(await insist({ kind, name: `${round}-${number}-${turn}` }, number))
      }
    }
    const working = Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
    return {
      working,
      end() {
        isOver = true
        return working
      },
    }
  }

  /** How long after the promotion each server has written something again. */
  const untilWritten = (round: number) => {
    const began = performance.now()
    return Promise.all(
      sessions.map(async ({ admin }, server) => {
        for (let attempt = 0; ; attempt += 1) {
          const answer = await admin.put(`${accountPath}/users`, {
            first_name: 'A',
            last_name: 'B',
            username: `back-${round}-${server}-${attempt}`,
          })
          if (isGranted(answer)) return performance.now() - began
          await pause(10)
        }
      }),
    )
  }

  const stored = async () => {
    const db = openPostgres(databaseUrl)
    const names = await db.all<{ name: string }>(
      "SELECT doc::json ->> 'name' AS name FROM records WHERE kind = 'device'",
    )
    const legs = await db.all<{ id: string }>('SELECT id FROM cdrs')
    const [counted] = await db.all<{ calls: number }>(
      "SELECT sum(calls)::bigint AS calls FROM cdr_tallies WHERE dimension = 'all' AND seconds = 900",
    )
    const entries = await db.all<{ id: string }>(
      "SELECT id FROM ledger_entries WHERE source_service = 'payments'",
    )
    await db.close()
    return {
      devices: names.map(({ name }) => name).toSorted(),
      legs: legs.map(({ id }) => id.slice(7)).toSorted(),
      counted: counted?.calls,
      entries: entries.map(({ id }) => id).toSorted(),
    }
  }

  const keysUnderWay = async () => {
    const db = openPostgres(databaseUrl)
    const [row] = await db.all<{ keys: number }>(
      'SELECT count(*) AS keys FROM idempotency_keys WHERE answer IS NULL',
    )
    await db.close()
    return row?.keys
  }

  return {
    servers,
    sessions,
    accountPath,
    /** In milliseconds, of each server and failover so far. */
    backAfter,

    /** Clients are busy before, while and after `failOver` is carried out, which resolves as soon as there is a new primary. */
    async through<T>(failOver: () => Promise<T>): Promise<T> {
      const round = rounds++
      const { working, end } = begin(round)
      const untilMore = (more: number) => {
        const enough = granted.length + more
        const reached = eventually(
          () => granted.length,
          (count) => count >= enough,
          patienceMs,
        )
        return Promise.race([reached, working])
      }
      await untilMore(wishesBefore)
      const result = await failOver()
      backAfter.push(...(await untilWritten(round)))
      await untilMore(wishesAfter)
      await end()
      return result
    },

    /** What was granted is there once, and asking for it again answers as it did. Tells how it went. */
    async expectAllOnce(): Promise<string> {
      const failures = granted.reduce((sum, one) => sum + one.failures, 0)
      const named = (kind: Wish['kind']) => granted.filter((one) => one.kind === kind)
      const expectedLegs = named('legs').flatMap(({ name }) =>
        Array.from({ length: legsPerBody }, (_, index) => `${name}-${index}`),
      )
      expect(failures).toBeGreaterThan(0)
      expect(await stored()).toEqual({
        devices: named('device')
          .map(({ name }) => name)
          .toSorted(),
        legs: expectedLegs.toSorted(),
        counted: expectedLegs.length,
        entries: named('topup')
          .map(({ answer }) => answer.data.ledger.id)
          .toSorted(),
      })
      await eventually(keysUnderWay, (keys) => keys === 0)
      for (const one of granted.filter(({ failures: many, kind }) => many > 0 && kind !== 'legs')) {
        expect((await insist(one, 0)).answer.data).toEqual(one.answer.data)
      }
      const [least, most] = [Math.min(...backAfter), Math.max(...backAfter)].map((ms) => ms.toFixed(0))
      return `${rounds} failovers, ${granted.length} wishes, ${failures} refusals on the way; writes were back after ${least} to ${most} ms`
    },

    async close() {
      for (const session of sessions) session.close()
      await Promise.all(servers.map((server) => server.end()))
      for (const server of servers) removeDataDir(server)
    },
  }
}
