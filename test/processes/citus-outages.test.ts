// A store on Citus of which a server dies, under clients that insist.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/lib/clock.ts'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import { monthOf } from '../../src/lib/time-key.ts'
import { ChangeSet, conflict } from '../../src/storage/change-set.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { createStore } from '../../src/storage/store.ts'
import { eventually } from '../support/run/eventually.ts'
import { countOf } from '../support/run/run-length.ts'
import { type CitusCluster, citusPrograms, startCitus } from '../support/servers/citus.ts'
import { openEventStream } from '../support/servers/event-stream.ts'
import { type HookReceiver, startHookReceiver } from '../support/servers/hook-receiver.ts'
import { removeDataDir, type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { type SmtpServer, startSmtpServer } from '../support/servers/smtp-server.ts'
import { createCitusStorm } from '../support/world/citus-storm.ts'
import type { Answer } from '../support/world/client.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

const title = citusPrograms
  ? 'A store on Citus'
  : 'A store on Citus that dies in part (left out: no PostgreSQL with Citus is installed)'

const awayMs = countOf(3000, 60_000)
const crashes = countOf(2, 10)
const accountsOfWorker = 2
// More than all buffers between server and client can contain.
const manyLegs = 35_000
const legsPerStatement = 5000

const posted = readFileSync(new URL('../data/freeswitch/inbound.json', import.meta.url), 'utf8')
const postedId = '0b5c1f5e-54d1-4c29-8f0e-6a1f0c7f9a01'

/** The two months that come after a moment. */
const monthsAfter = (unixMilliseconds: number): [number, number] => {
  const now = new Date(unixMilliseconds)
  const start = (months: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months)
  return [Number(monthOf(start(1))), Number(monthOf(start(2)))]
}

const unreachable = [503, 'datastore_unreachable']
const verdictOf = ({ status, body }: Answer) => [status, body.message]

describe.runIf(citusPrograms)(title, () => {
  let cluster: CitusCluster
  let smtp: SmtpServer
  let receiver: HookReceiver
  let server: ServerProcess
  let session: Session
  let made = 0

  const environment = () => ({
    CROSSPOINT_DATABASE_URL: cluster.url,
    CROSSPOINT_SMTP_URL: smtp.url,
  })

  const account = async (): Promise<string> => {
    made += 1
    const name = `account${made}`
    const answer = await session.admin.put('/v2/accounts', { name, realm: `${name}.test` })
    expect(answer).toSucceed()
    return answer.data.id
  }

  /** Accounts of the worker that is going to die, and of the other one. */
  const accountsOfBoth = async (each = 1) => {
    const [dying, staying] = cluster.workers
    if (!dying || !staying) throw new Error('there are two workers')
    const lost: string[] = []
    const well: string[] = []
    while (lost.length < each || well.length < each) {
      const id = await account()
      const found = (await cluster.workerOf(id)) === dying ? lost : well
      if (found.length < each) found.push(id)
    }
    return { dying, lost, well }
  }

  const accountOfBoth = async () => {
    const { dying, lost, well } = await accountsOfBoth()
    return { dying, lost: lost[0] as string, well: well[0] as string }
  }

  const legOf = (accountId: string, more: object = {}) => {
    made += 1
    return {
      call_id: `call-${made}`,
      timestamp: gregorianNow(systemClock),
      duration_seconds: 30,
      billing_seconds: 20,
      call_direction: 'inbound',
      ...more,
      custom_channel_vars: {
        account_id: accountId,
        ...('owner_id' in more ? { owner_id: more.owner_id } : {}),
      },
    }
  }

  const send = (legs: readonly object[]) => session.admin.put('/v2/cdrs', legs)

  const callsStored = (accountId: string) =>
    cluster.ask(async (client) => {
      const sql = 'SELECT count(*)::int AS calls FROM cdrs WHERE account_id = $1'
      return (await client.query<{ calls: number }>(sql, [accountId])).rows[0]?.calls
    })

  const goOn = () => void server.process.kill('SIGCONT')

  /** Stops the server while it holds no lock that another one needs. */
  const stopBetweenWrites = async () => {
    for (;;) {
      server.process.kill('SIGSTOP')
      const busy = await cluster.ask(async (client) => {
        const { rows } = await client.query(
          "SELECT 1 FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'",
        )
        return rows.length
      })
      if (busy === 0) return
      goOn()
    }
  }

  beforeAll(async () => {
    cluster = await startCitus(citusPrograms ?? '')
    await cluster.makeStore()
    smtp = await startSmtpServer()
    receiver = await startHookReceiver()
    server = await startServerProcess(environment())
    session = await openSession(server)
    await freeRequests(session)
    const crossbar = { default: { allowed_private_hosts: ['127.0.0.1'] } }
    expect(await session.admin.patch('/v2/system_configs/crossbar', crossbar)).toSucceed()
  }, 180_000)

  afterEach(async () => {
    goOn()
    for (const node of [cluster.coordinator, ...cluster.workers]) await node.mend()
  })

  afterAll(async () => {
    session?.close()
    await server?.end()
    if (server) removeDataDir(server)
    await receiver?.close()
    await smtp?.close()
    await cluster?.close()
  }, 60_000)

  it('loses and doubles nothing while a worker is gone, and never refuses the accounts of the other', {
    timeout: 180_000 + 2 * awayMs,
  }, async () => {
    const { dying, lost, well } = await accountsOfBoth(accountsOfWorker)
    const storm = createCitusStorm(cluster, session, [...lost, ...well])
    const { untilMore, end } = storm.begin()
    await untilMore()
    await dying.kill()
    const begun = performance.now()
    const before = storm.granted.length
    const devicesBefore = lost.map((id) => storm.grantedOf(id, 'device'))
    await eventually(
      () => performance.now() - begun,
      (passed) => passed >= awayMs,
      awayMs + 1000,
    )
    const meanwhile = storm.granted.slice(before)
    await dying.start()
    await untilMore()
    await end()
    await storm.expectAllOnce()
    const refused = lost.map((id) => storm.refusalsOf(id))
    process.stdout.write(
      `a worker was away for ${awayMs / 1000} s: ${meanwhile.length} operations committed in that time, ${refused.flat().length} refusals of its accounts\n`,
    )
    expect(well.flatMap((id) => storm.refusalsOf(id))).toEqual([])
    for (const statuses of refused) expect(new Set(statuses)).toEqual(new Set([503]))
    for (const id of well) expect(meanwhile.some(({ accountId }) => accountId === id)).toBe(true)
    // Data at the coordinator stays writable for every account.
    for (const [index, id] of lost.entries())
      expect(storm.grantedOf(id, 'device')).toBeGreaterThan(devicesBefore[index] ?? 0)
  })

  it('finishes what a coordinator that dies in mid-commit leaves prepared on workers', {
    timeout: 120_000 + crashes * 120_000,
  }, async () => {
    const { lost, well } = await accountsOfBoth()
    const storm = createCitusStorm(cluster, session, [...lost, ...well])
    const { untilMore, end } = storm.begin()
    const { coordinator, workers } = cluster
    /**
     * Returns how many transactions the crash leaves prepared. If there are none, the coordinator continues.
     */
    const crashInMidCommit = async () => {
      await coordinator.freeze()
      const prepared = await Promise.all(workers.map((worker) => worker.preparedTransactions()))
      await (prepared.flat().length > 0 ? coordinator.crash() : coordinator.thaw())
      return prepared.flat().length
    }
    let left = 0
    for (let crash = 0; crash < crashes; crash += 1) {
      await untilMore()
      left += await eventually(crashInMidCommit, (count) => count > 0, 60_000)
      await coordinator.start()
    }
    await untilMore()
    await end()
    await storm.expectAllOnce()
    process.stdout.write(
      `${crashes} coordinators stopped during a commit: ${storm.granted.length} operations committed, ${left} transactions remained prepared\n`,
    )
  })

  it('answers every reader of call records with 503 while the worker of an account is gone', async () => {
    const { dying, lost, well } = await accountOfBoth()
    const pathsOf = async (accountId: string) => {
      const path = `/v2/accounts/${accountId}`
      const user = await session.admin.put(`${path}/users`, { first_name: 'A', last_name: 'B' })
      const legs = Array.from({ length: 5 }, () => legOf(accountId, { owner_id: user.data.id }))
      expect(await send(legs)).toSucceed()
      const [{ id }] = (await session.admin.get(`${path}/cdrs`)).data
      const lists = ['', `/users/${user.data.id}`].flatMap((of) => [`${of}/cdrs`, `${of}/cdrs/interaction`])
      return {
        lists: lists.map((list) => path + list),
        others: [
          `${path}/cdrs/stats`,
          `${path}/cdrs/stats?group_by=call_direction`,
          `${path}/users/${user.data.id}/cdrs/stats`,
          `${path}/users/${user.data.id}/cdrs/stats?group_by=call_direction`,
          `${path}/cdrs/summary`,
          `${path}/cdrs/legs/${id}`,
          `${path}/cdrs/${id}`,
          `${path}/events?type=cdr.created`,
        ],
      }
    }
    const queries = [
      {},
      { paginate: false },
      { paginate: false, is_chunked: false },
      { paginate: false, filter_call_direction: 'inbound' },
      { paginate: false, has_key: 'duration_seconds' },
      { paginate: false, fields: '["id","duration_seconds"]' },
    ]
    const readAll = async ({ lists, others }: Awaited<ReturnType<typeof pathsOf>>) => {
      const asked = [
        ...lists.flatMap((path) =>
          queries.flatMap((query) =>
            ['application/json', 'text/csv'].map((accept) => ({ path, query, headers: { accept } })),
          ),
        ),
        ...others.map((path) => ({ path, query: '', headers: {} })),
      ]
      const answers: Answer[] = []
      for (const { path, query, headers } of asked)
        answers.push(await session.admin.get(path, query === '' ? { headers } : { query, headers }))
      return answers
    }
    const shown = ({ status, data, text }: Answer) => [status, data ?? text]
    const lostPaths = await pathsOf(lost)
    const wellPaths = await pathsOf(well)
    const before = (await readAll(lostPaths)).map(shown)
    expect(before.filter(([status]) => status !== 200)).toEqual([])
    await dying.kill()
    const refused = await readAll(lostPaths)
    expect(refused.filter((answer) => verdictOf(answer).join() !== unreachable.join())).toEqual([])
    const served = await readAll(wellPaths)
    expect(served.filter(({ status }) => status !== 200)).toEqual([])
    const db = openPostgres(cluster.url)
    const cells = [{ value: 'id' }]
    const tail = 'FROM cdrs WHERE account_id = $1 ORDER BY id'
    const lines = db.csvLines({
      cells,
      plainWhen: 'true',
      orderedBy: ['id'],
      tail,
      params: [lost],
      byBlock: false,
    })
    await expect(lines).rejects.toMatchObject({ kind: { name: 'datastore_unreachable' } })
    await db.close()
    await dying.start()
    expect((await readAll(lostPaths)).map(shown)).toEqual(before)
  })

  it('breaks off a list that has begun when its worker dies, so no client takes it for the whole', async () => {
    const { dying, lost } = await accountOfBoth()
    expect(await send([legOf(lost)])).toSucceed()
    await cluster.ask(async (client) => {
      const { rows } = await client.query('SELECT * FROM cdrs WHERE account_id = $1', [lost])
      const like = (index: number) => ({
        ...rows[0],
        id: `${rows[0].id}-${index}`,
        caller_id_name: 'x'.repeat(1000),
      })
      for (let at = 0; at < manyLegs; at += legsPerStatement) {
        const copies = Array.from({ length: legsPerStatement }, (_, index) => like(at + index))
        await client.query('INSERT INTO cdrs SELECT * FROM json_populate_recordset(NULL::cdrs, $1::json)', [
          JSON.stringify(copies),
        ])
      }
    })
    const begin = async (accept: string) => {
      const path = `/v2/accounts/${lost}/cdrs?paginate=false`
      const headers = { accept, 'x-auth-token': session.token }
      const [response] = (await once(get({ port: server.port, path, headers }), 'response')) as [
        IncomingMessage,
      ]
      expect(response.statusCode).toBe(200)
      return response.pause()
    }
    const lists = await Promise.all(['text/csv', 'application/json'].map(begin))
    await dying.kill()
    for (const list of lists) {
      const closed = once(list, 'close').catch(() => undefined)
      list.on('error', () => undefined).resume()
      await closed
      expect(list.complete).toBe(false)
    }
    await dying.start()
    expect(await callsStored(lost)).toBe(manyLegs + 1)
  })

  it('takes what comes in company with calls of accounts whose worker is gone', async () => {
    const { dying, lost, well } = await accountOfBoth()
    const { data } = await session.admin.get('/v2/system_configs/ingest')
    const post = async (accountId: string, index: number) => {
      const id = `${String(made).padStart(4, '0')}${String(index).padStart(4, '0')}${postedId.slice(8)}`
      const answer = await fetch(
        `${server.url}/ingest/freeswitch/${data.default.freeswitch_secret}?uuid=${id}`,
        {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: posted.replaceAll(postedId, id).replaceAll('ACCOUNT', accountId),
        },
      )
      return answer.status
    }
    // The month of these calls begins on all workers.
    expect(await post(well, 9999)).toBe(200)
    const accounts = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? lost : well))
    await dying.kill()
    const statuses = await Promise.all(accounts.map(post))
    expect(statuses).toEqual(accounts.map((id) => (id === lost ? 503 : 200)))
    const mixed = [legOf(lost), legOf(well), legOf(lost), legOf(well)]
    expect(await send(mixed)).toFailWith(503, 'datastore_unreachable')
    expect(await callsStored(well)).toBe(23)
    await dying.start()
    const repeated = await send(mixed)
    expect(repeated.data).toMatchObject({ accepted: 2, duplicates: 2 })
    expect(await callsStored(lost)).toBe(2)
  })

  it('begins a month while a worker is gone, for its tables were made before', {
    timeout: 120_000,
  }, async () => {
    const { dying, lost, well } = await accountOfBoth()
    expect(await send([legOf(well)])).toSucceed()
    const [next, behind] = monthsAfter(systemClock.now())
    const db = openPostgres(cluster.url)
    const store = createStore(db, systemClock)
    const insert = async (month: number, accountId: string) => {
      const set = new ChangeSet({ requestId: 'test' })
      const row = {
        account_id: accountId,
        id: `${month}-first`,
        created: 1,
        interaction_time: 1,
        interaction_key: 'key',
        cost: 0,
        reseller_cost: 0,
        csv_quoted: 0,
        csv_guarded: 0,
      }
      await store.cdrs.insert(set, month, [row], { isArchived: false, orElse: conflict })
      await store.writeUnrecorded(set.statements, set.stale)
    }
    try {
      // The server looks once a minute.
      await eventually(
        async () => {
          await store.fence()
          return store.cdrs.months()
        },
        (months) => months.includes(next),
        90_000,
      )
      await dying.kill()
      await insert(next, well)
      for (const [month, accountId] of [
        [next, lost],
        [behind, well],
      ] as const)
        await expect(insert(month, accountId)).rejects.toMatchObject({
          kind: { name: 'datastore_unreachable' },
        })
      expect(await callsStored(well)).toBe(2)
      await dying.start()
    } finally {
      await db.close()
    }
  })

  it('ends a stream whose calls cannot be read, and continues the streams of other accounts', {
    timeout: 120_000,
  }, async () => {
    const { dying, lost, well } = await accountOfBoth()
    const second = await startServerProcess(environment())
    const other = await openSession(second, session)
    const follow = (accountId: string, query: string) =>
      openEventStream(server.port, `/v2/accounts/${accountId}/events?${query}`, {
        'x-auth-token': session.token,
      })
    const ofCalls = await follow(lost, 'after=now&type=cdr.created')
    const ofDevices = await follow(well, 'after=now&type=device.created')
    const makeDevice = async () =>
      expect(await other.admin.put(`/v2/accounts/${well}/devices`, { name: 'A phone' })).toSucceed()
    const first = legOf(lost)
    expect(await other.admin.put('/v2/cdrs', [first])).toSucceed()
    await makeDevice()
    await ofCalls.come(1)
    await ofDevices.come(1)

    await stopBetweenWrites()
    const unheard = legOf(lost)
    expect(await other.admin.put('/v2/cdrs', [unheard])).toSucceed()
    await dying.kill()
    goOn()
    await makeDevice()
    await ofDevices.come(2)
    await ofCalls.ended
    const [told, lagging, ...more] = ofCalls.messages
    expect(more).toEqual([])
    expect(lagging).toEqual({ event: 'lagging', data: JSON.stringify({ after: told?.id }) })

    await dying.start()
    const resumed = await follow(lost, `after=${told?.id}&type=cdr.created`)
    const [again] = await resumed.come(1)
    expect(JSON.parse(again?.data ?? '')).toMatchObject({ after: unheard })
    for (const stream of [resumed, ofDevices]) stream.close()
    other.close()
    await second.end()
    removeDataDir(second)
  })

  it('calls receivers once, and sends each mail once, though the outcome cannot be stored', {
    timeout: 120_000,
  }, async () => {
    const { dying, lost, well } = await accountOfBoth()
    for (const id of [lost, well]) {
      const hook = { name: 'A hook', uri: `${receiver.url}/${id}`, hook: 'user.created', format: 'json' }
      expect(await session.admin.put(`/v2/accounts/${id}/webhooks`, hook)).toSucceed()
    }
    await dying.kill()
    const addresses = ['one', 'two', 'three'].flatMap((name) => [lost, well].map((id) => ({ id, name })))
    for (const { id, name } of addresses) {
      const email = `${name}@${id}.test`
      const user = { first_name: 'A', last_name: 'B', username: email, email }
      expect(await session.admin.put(`/v2/accounts/${id}/users`, user)).toSucceed()
    }
    const mailsTo = (id: string) =>
      smtp.mails.filter(({ to }) => to.some((one) => one.endsWith(`@${id}.test`)))
    const arrived = (id: string) => () => mailsTo(id).length
    const three = (count: number) => count === 3
    await eventually(arrived(well), three)
    await receiver.told(`/${well}`, 3)
    await receiver.told(`/${lost}`, 3)
    // Their jobs run again and again in this time: nothing is sent whose outcome cannot be stored.
    const begun = performance.now()
    await eventually(
      () => performance.now() - begun,
      (passed) => passed > 3000,
    )
    expect(receiver.to(`/${lost}`)).toHaveLength(3)
    expect(mailsTo(lost)).toEqual([])
    await dying.start()
    await eventually(arrived(lost), three, 60_000)
    expect([lost, well].map((id) => receiver.to(`/${id}`).length)).toEqual([3, 3])
    expect([lost, well].map((id) => mailsTo(id).length)).toEqual([3, 3])
  })
})
