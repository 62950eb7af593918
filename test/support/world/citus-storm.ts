// Clients of accounts on several workers, which repeat requests until they are granted: devices, call records,
// and numbers that a task makes.
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { systemClock } from '../../../src/lib/clock.ts'
import { messageOf } from '../../../src/lib/error-facts.ts'
import { gregorianNow } from '../../../src/lib/gregorian.ts'
import { eventually } from '../run/eventually.ts'
import type { CitusCluster } from '../servers/citus.ts'
import type { Answer } from './client.ts'
import type { Session } from './session.ts'

const legsPerBody = 5
const numbersPerTask = 3
const pauseMs = 50
// Long enough for a machine that is busy with other things.
const patienceMs = 120_000

const kinds = ['device', 'legs', 'numbers'] as const

interface Granted {
  kind: (typeof kinds)[number]
  accountId: string
  /** The names of what there has to be now, each once. */
  names: readonly string[]
}

const isGranted = ({ status }: Answer) => status === 200 || status === 201
/**
 * The client repeats a request after these answers: the store is away, or another try of the same is in
 * progress.
 */
const isPassing = ({ status }: Answer) => status === 503 || status === 409

const range = (length: number) => Array.from({ length }, (_, index) => index)

// Runs on one store use different names.
let storms = 0

export const createCitusStorm = (
  { ask, workers }: Pick<CitusCluster, 'ask' | 'workers'>,
  { admin }: Pick<Session, 'admin'>,
  accountIds: readonly string[],
) => {
  const granted: Granted[] = []
  /** The statuses of what was refused on the way, by account. */
  const refusals = new Map<string, number[]>(accountIds.map((id) => [id, []]))
  storms += 1
  const storm = storms
  let made = 0

  const note = (accountId: string, answer: Answer) => {
    if (!isPassing(answer)) return
    refusals.get(accountId)?.push(answer.status)
  }

  const insist = async (accountId: string, send: () => Promise<Answer>): Promise<Answer> => {
    for (;;) {
      const answer = await send()
      if (isGranted(answer)) return answer
      if (!isPassing(answer)) throw new Error(`${answer.request.path}: ${answer.text}`)
      note(accountId, answer)
      await pause(pauseMs)
    }
  }

  /** A response ends early if the store fails: the client repeats the request. */
  const readWhole = async (accountId: string, path: string): Promise<Answer> => {
    for (;;) {
      try {
        return await insist(accountId, () => admin.get(path))
      } catch (error) {
        if (messageOf(error) !== 'aborted') throw error
        await pause(pauseMs)
      }
    }
  }

  const makeDevice = async (accountId: string, name: string) => {
    const options = { headers: { 'idempotency-key': name } }
    await insist(accountId, () => admin.put(`/v2/accounts/${accountId}/devices`, { name }, options))
    return [name]
  }

  const sendLegs = async (accountId: string, name: string) => {
    const names = range(legsPerBody).map((index) => `${name}-${index}`)
    const timestamp = gregorianNow(systemClock)
    const legs = names.map((call_id) => ({
      call_id,
      timestamp,
      custom_channel_vars: { account_id: accountId },
    }))
    await insist(accountId, () => admin.put('/v2/cdrs', legs))
    return names
  }

  /** Starts a task, in any state, and waits for its end. */
  const carryOut = async (accountId: string, path: string) => {
    for (;;) {
      const { status } = (await insist(accountId, () => admin.get(path))).body.metadata
      if (status === 'pending') note(accountId, await admin.patch(path))
      else if (status !== 'executing') return expect(status).toBe('success')
      await pause(pauseMs)
    }
  }

  const importNumbers = async (accountId: string, name: string) => {
    made += 1
    const numbers = range(numbersPerTask).map(
      (index) => `+1415${5_000_000 + 100_000 * storm + numbersPerTask * made + index}`,
    )
    const records = numbers.map((e164) => ({ e164 }))
    const tasks = `/v2/accounts/${accountId}/tasks`
    const query = { category: 'number_management', action: 'import' }
    const options = { query, headers: { 'idempotency-key': name } }
    const task = await insist(accountId, () => admin.put(tasks, { records }, options))
    const path = `${tasks}/${task.body.metadata.id}`
    await carryOut(accountId, path)
    const output = await readWhole(accountId, `${path}/output`)
    const [, ...lines] = output.text.trimEnd().split('\r\n')
    expect(lines.map((line) => line.split(',', 1)[0])).toEqual(numbers)
    return numbers
  }

  const wishes = { device: makeDevice, legs: sendLegs, numbers: importNumbers }

  const stored = () =>
    ask(async (client) => {
      const namesOf = async (sql: string) =>
        (await client.query<{ name: string }>(`${sql} AND account_id = ANY($1)`, [accountIds])).rows
          .map(({ name }) => name)
          .toSorted()
      const [told] = (
        await client.query<{ legs: string }>(
          "SELECT sum(COALESCE(span, 1)) AS legs FROM audit_log WHERE event = 'cdr.created' AND account_id = ANY($1)",
          [accountIds],
        )
      ).rows
      const [counted] = (
        await client.query<{ calls: string }>(
          "SELECT sum(calls) AS calls FROM cdr_tallies WHERE dimension = 'all' AND seconds = 900 AND account_id = ANY($1)",
          [accountIds],
        )
      ).rows
      return {
        device: await namesOf("SELECT doc::json ->> 'name' AS name FROM records WHERE kind = 'device'"),
        legs: await namesOf('SELECT substr(id, 8) AS name FROM cdrs WHERE true'),
        numbers: await namesOf(
          "SELECT record_id AS name FROM audit_log WHERE kind = 'number' AND action = 'created'",
        ),
        // The totals at the coordinator agree with the rows on the workers.
        legsTold: Number(told?.legs),
        legsCounted: Number(counted?.calls),
      }
    })

  return {
    granted,
    refusalsOf: (accountId: string) => refusals.get(accountId) ?? [],
    grantedOf: (accountId: string, kind?: Granted['kind']) =>
      granted.filter((one) => one.accountId === accountId && (kind === undefined || one.kind === kind))
        .length,

    /** A client of each account for each kind of wish, until `end` is called; each sees its last wish granted. */
    begin() {
      let isOver = false
      const client = async (accountId: string, kind: Granted['kind']) => {
        while (!isOver) {
          made += 1
          granted.push({ kind, accountId, names: await wishes[kind](accountId, `${kind}-${storm}-${made}`) })
        }
      }
      const working = Promise.all(accountIds.flatMap((id) => kinds.map((kind) => client(id, kind))))
      return {
        /** Resolves when each client has been granted something more. */
        async untilMore() {
          const before = new Map(accountIds.flatMap((id) => kinds.map((kind) => [`${id} ${kind}`, 0])))
          for (const { accountId, kind } of granted)
            before.set(`${accountId} ${kind}`, (before.get(`${accountId} ${kind}`) ?? 0) + 1)
          const waiting = () =>
            [...before].filter(([key, count]) => {
              const [accountId = '', kind] = key.split(' ')
              return granted.filter((one) => one.accountId === accountId && one.kind === kind).length <= count
            })
          const reached = eventually(waiting, ({ length }) => length === 0, patienceMs)
          await Promise.race([reached, working])
        },
        working,
        end() {
          isOver = true
          return working
        },
      }
    },

    /** Granted requests are stored once, on coordinator and workers, and nothing is left half committed. */
    async expectAllOnce() {
      const named = (kind: Granted['kind']) =>
        granted
          .filter((one) => one.kind === kind)
          .flatMap(({ names }) => names)
          .toSorted()
      const preparedOn = async () => {
        const found = await Promise.all(workers.map((worker) => worker.preparedTransactions()))
        return found.flat()
      }
      await eventually(preparedOn, ({ length }) => length === 0)
      const legs = named('legs')
      expect(await stored()).toEqual({
        device: named('device'),
        legs,
        numbers: named('numbers'),
        legsTold: legs.length,
        legsCounted: legs.length,
      })
    },
  }
}
