// Two servers on a database that fails over, and clients who insist on what they wish for: devices, call records, top-ups
// one after the other, creates at a steady pace, and tasks over CSV.
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { systemClock } from '../../../../src/lib/clock.ts'
import { gregorianNow } from '../../../../src/lib/gregorian.ts'
import type { Json } from '../../../../src/lib/json.ts'
import { eventually } from '../../run/eventually.ts'
import { countOf } from '../../run/run-length.ts'
import { removeDataDir, type ServerProcess, startServerProcess } from '../../servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../session.ts'
import { createInsist, type Granted, isGranted, withKey } from './insist.ts'
import { createPace } from './pace.ts'
import { differences, keysUnderWayIn, noDifference, storedIn } from './stored.ts'
import { createTasks } from './tasks.ts'

const createsPerSecond = countOf(20, 500)
/** The rate is measured over this time, before and after. */
const steadySeconds = countOf(1, 3)
/** Whose devices arrive by the clock. */
const customers = 20
const clients = countOf(3, 6)
const legsPerBody = 10
const wishesBefore = 30
const wishesAfter = 30

interface Wish {
  kind: 'device' | 'legs' | 'topup'
  name: string
}

type GrantedWish = Wish & Granted

const kinds = ['device', 'legs', 'topup'] as const

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

const makeAccounts = async ({ admin }: Session, count: number) => {
  const paths: string[] = []
  for (let number = 0; number < count; number += 1) {
    const made = await admin.put('/v2/accounts', {
      name: `Customer ${number}`,
      realm: `customer${number}.test`,
    })
    expect(made.status, made.text).toBe(201)
    paths.push(`/v2/accounts/${made.data.id}`)
  }
  return paths
}

const rounded = (milliseconds: readonly number[]) => milliseconds.map((ms) => ms.toFixed(0)).join(' and ')

export type FailoverStorm = Awaited<ReturnType<typeof openFailoverStorm>>

/** `name` is the prefix of the report about each failover. */
export const openFailoverStorm = async (name: string, databaseUrl: string) => {
  const { servers, sessions } = await startServers(databaseUrl)
  const [accountPath = '', ...customerPaths] = await makeAccounts(sessions[0] as Session, 1 + customers)
  const insist = createInsist(sessions)
  const pace = createPace(insist, customerPaths, createsPerSecond)
  const tasks = createTasks(insist)
  const granted: GrantedWish[] = []
  const backAfter: number[] = []
  let rounds = 0
  let tasksAcross = 0

  const legsOf = (wish: Wish): Json[] =>
    Array.from({ length: legsPerBody }, (_, index) => ({
      call_id: `${wish.name}-${index}`,
      timestamp: gregorianNow(systemClock),
      custom_channel_vars: { account_id: accountPath.slice('/v2/accounts/'.length) },
    }))

  /** Records carry their own identity; the others a key. */
  const send = ({ admin }: Session, wish: Wish, legs: Json[]) => {
    const options = withKey(wish.name)
    if (wish.kind === 'device') return admin.put(`${accountPath}/devices`, { name: wish.name }, options)
    if (wish.kind === 'topup') return admin.post(`${accountPath}/services/topup`, { amount: 0.01 }, options)
    return admin.put('/v2/cdrs', legs)
  }

  const grant = async (wish: Wish, first: number): Promise<GrantedWish> => {
    const legs = legsOf(wish)
    return { ...wish, ...(await insist((session) => send(session, wish, legs), { first })) }
  }

  /** Clients that make one request after the other until they are stopped. */
  const beginWishes = (round: number) => {
    let isOver = false
    let wishes = 0
    const client = async (number: number) => {
      while (!isOver) {
        const turn = wishes++
        const kind = kinds[turn % kinds.length] ?? 'device'
        granted.push(await grant({ kind, name: `${round}-${number}-${turn}` }, number))
      }
    }
    const working = Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
    working.catch(() => undefined)
    return {
      untilMore(more: number) {
        const enough = granted.length + more
        const reached = eventually(
          () => granted.length,
          (count) => count >= enough,
        )
        return Promise.race([reached, working])
      },
      end() {
        isOver = true
        return working
      },
    }
  }

  /** How long after the promotion each server has written something again. */
  const untilWritten = (round: number, promotedAt: number) =>
    Promise.all(
      sessions.map(async ({ admin }, server) => {
        for (let attempt = 0; ; attempt += 1) {
          const answer = await admin.put(`${accountPath}/users`, {
            first_name: 'A',
            last_name: 'B',
            username: `back-${round}-${server}-${attempt}`,
          })
          if (isGranted(answer)) return performance.now() - promotedAt
          await pause(10)
        }
      }),
    )

  const heldAtWork = async (
    working: Promise<unknown>,
    hold: (() => Promise<{ release(): Promise<unknown> }>) | undefined,
  ) => {
    for (;;) {
      await Promise.race([tasks.untilAtWork(), working])
      const held = await hold?.()
      if (!held || (await tasks.isOneAtWork())) return held
      await held.release()
    }
  }

  const refusals = () => [...granted, ...pace.granted].reduce((sum, { failures }) => sum + failures, 0)

  const tell = (line: string) => process.stdout.write(`${name}: ${line}\n`)

  return {
    servers,
    sessions,
    accountPath,
    /** In milliseconds, of each server and failover so far. */
    backAfter,

    /**
     * All are busy before, while and after `failOver` is carried out, which resolves as soon as there is a new primary. `hold` blocks
     * writes of numbers until the primary dies, so that no task ends before the failover.
     */
    async through<T>(
      failOver: () => Promise<T>,
      hold?: () => Promise<{ release(): Promise<unknown> }>,
    ): Promise<T> {
      const round = rounds++
      const refusedBefore = refusals()
      const wishing = beginWishes(round)
      const arriving = pace.begin()
      const working = tasks.begin()
      await wishing.untilMore(wishesBefore)
      const before = await pace.rateOver(steadySeconds)
      const held = await heldAtWork(working.working, hold)
      const result = await failOver()
      const promotedAt = performance.now()
      await held?.release()
      const ended = working.end()
      const back = await untilWritten(round, promotedAt)
      backAfter.push(...back)
      await pace.caughtUp()
      const caughtUpAfter = performance.now() - promotedAt
      const after = await pace.rateOver(steadySeconds)
      await wishing.untilMore(wishesAfter)
      await ended
      await Promise.all([wishing.end(), arriving.end()])
      const across = tasks.across(promotedAt)
      tasksAcross += across.count
      tell(
        [
          `failover ${round + 1}: ${before.toFixed(0)} creates/s before, ${after.toFixed(0)} after`,
          `${refusals() - refusedBefore} refusals`,
          `writes back after ${rounded(back)} ms, all that waited granted after ${rounded([caughtUpAfter])} ms`,
          `${across.count} tasks continued after ${rounded([across.longestMs])} ms`,
        ].join('; '),
      )
      return result
    },

    /** Granted requests are stored once, and a repeated request gets the same answer. Reports the result. */
    async expectAllOnce() {
      const named = (kind: Wish['kind']) => granted.filter((one) => one.kind === kind)
      const legs = named('legs').flatMap((wish) =>
        Array.from({ length: legsPerBody }, (_, index) => `${wish.name}-${index}`),
      )
      expect(refusals()).toBeGreaterThan(0)
      expect(tasksAcross).toBeGreaterThan(0)
      const done = await tasks.expectAllDone()
      const stored = await storedIn(databaseUrl)
      const devices = [...named('device'), ...pace.granted].map((one) => one.name)
      const entries = named('topup').map(({ answer }) => answer.data.ledger.id as string)
      expect({
        devices: differences(devices, stored.devices),
        legs: differences(legs, stored.legs),
        counted: stored.counted,
        entries: differences(entries, stored.entries),
        tasks: differences(done.ids, stored.tasks),
        numbers: differences(done.numbers, stored.marks),
      }).toEqual({
        devices: noDifference,
        legs: noDifference,
        counted: legs.length,
        entries: noDifference,
        tasks: noDifference,
        numbers: noDifference,
      })
      await eventually(
        () => keysUnderWayIn(databaseUrl),
        (keys) => keys === 0,
      )
      for (const one of granted.filter(({ failures, kind }) => failures > 0 && kind !== 'legs'))
        expect((await grant(one, 0)).answer.data).toEqual(one.answer.data)
      for (const { before, now } of await pace.askAgain()) expect(now).toEqual(before)
      const [least, most] = [Math.min(...backAfter), Math.max(...backAfter)]
      tell(
        [
          `${rounds} failovers, ${granted.length} wishes, ${pace.granted.length} creates by the clock`,
          `${done.ids.length} tasks with ${done.numbers.length} numbers, ${tasksAcross} of them across a failover`,
          `${refusals()} refusals on the way, ${pace.heldBack()} creates not sent`,
          `writes were back after ${rounded([least])} to ${rounded([most])} ms`,
        ].join('; '),
      )
    },

    async close() {
      for (const session of sessions) session.close()
      await Promise.all(servers.map((server) => server.end()))
      for (const server of servers) removeDataDir(server)
    },
  }
}
