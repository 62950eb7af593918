// A store with its call records on two workers: Debian's PostgreSQL with Citus, where it is installed.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/lib/clock.ts'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import { tablesThatLie } from '../../src/storage/distribution/placements.ts'
import { type CommandLine, openCommandLine } from '../support/run/command-line.ts'
import { eventually } from '../support/run/eventually.ts'
import { type CitusCluster, citusPrograms, startCitus } from '../support/servers/citus.ts'
import { onDatabase } from '../support/servers/postgres.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import type { Answer } from '../support/world/client.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

const title = citusPrograms
  ? 'A store on Citus'
  : 'A store on Citus (left out: no PostgreSQL with Citus is installed)'

const byAccount = 'distributed by account_id'
const startsWithinMs = 60_000

describe.runIf(citusPrograms)(title, () => {
  let cluster: CitusCluster
  let commands: CommandLine
  let server: ServerProcess
  let session: Session
  const dataDir = mkdtempSync(join(tmpdir(), 'crosspoint-'))

  const environment = () => ({ CROSSPOINT_DATABASE_URL: cluster.url })

  const start = async () => {
    server = await startServerProcess(environment(), dataDir)
    session = await openSession(server)
    await freeRequests(session)
  }

  const stop = async () => {
    session.close()
    expect(await server.end()).toBe(0)
  }

  const distribute = async () => {
    const { status, output, errors } = await commands.run('distribute', '--json')
    expect({ status, errors }).toEqual({ status: 0, errors: '' })
    const { tables } = JSON.parse(output) as { tables: { table: string; outcome: string }[] }
    return new Map(tables.map(({ table, outcome }) => [table, outcome]))
  }

  const account = async (name: string): Promise<string> => {
    const answer = await session.admin.put('/v2/accounts', { name, realm: `${name}.test` })
    expect(answer).toSucceed()
    return answer.data.id
  }

  const callsOf = (accountId: string, from: number, count: number) =>
    Array.from({ length: count }, (_, index) => ({
      call_id: `${accountId}-${from + index}`,
      timestamp: gregorianNow(systemClock),
      duration_seconds: 30,
      billing_seconds: 20,
      custom_channel_vars: { account_id: accountId },
    }))

  const send = (calls: readonly object[]): Promise<Answer> => session.admin.put('/v2/cdrs', calls)

  const callsCounted = async (accountId: string) => {
    const answer = await session.admin.get(`/v2/accounts/${accountId}/cdrs/stats`)
    expect(answer).toSucceed()
    return (answer.data as { calls: number }[]).reduce((sum, { calls }) => sum + calls, 0)
  }

  const callsListed = async (accountId: string) => {
    const answer = await session.admin.get(`/v2/accounts/${accountId}/cdrs`, { query: { paginate: false } })
    expect(answer).toSucceed()
    return answer.data.length
  }

  const distributedTables = () =>
    cluster.ask(async (client) => {
      const { rows } = await client.query<{ name: string }>(
        `SELECT c.relname AS name FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
          WHERE p.partmethod = 'h' AND NOT c.relispartition ORDER BY c.relname COLLATE "C"`,
      )
      return rows.map(({ name }) => name)
    })

  beforeAll(async () => {
    cluster = await startCitus(citusPrograms ?? '')
    commands = openCommandLine(environment())
    await start()
  }, 120_000)

  afterAll(async () => {
    session?.close()
    await server?.end()
    commands?.remove()
    await cluster?.close()
    rmSync(dataDir, { recursive: true, force: true })
  })

  it('is distributed with its data, by a command that can be repeated', async () => {
    const acme = await account('acme')
    expect(await send(callsOf(acme, 0, 50))).toSucceed()
    await stop()

    const begun = commands.start('distribute')
    await eventually(begun.output, (output) => output.includes(byAccount), startsWithinMs)
    begun.process.kill('SIGKILL')
    await begun.ended
    // The work of the database server for the killed command ends without intervention.
    const { output } = await eventually(
      () => commands.run('distribute'),
      ({ status }) => status === 0,
      startsWithinMs,
    )
    expect(output).toMatch(/^cdrs: (distributed by account_id|already distributed)$/m)
    expect(output).toContain('records: stays on the coordinator\n')
    expect((await distribute()).get('cdrs')).toBe('distributed_before')
    expect(await distributedTables()).toEqual(tablesThatLie('by_account'))

    await start()
    expect(await callsListed(acme)).toBe(50)
    expect(await callsCounted(acme)).toBe(50)
  }, 120_000)

  it('is refused to be distributed while a server uses it', async () => {
    const { status, output, errors } = await commands.run('distribute')
    expect({ status, output }).toEqual({ status: 1, output: '' })
    expect(errors).toMatch(/^crosspoint: the database has \d+ other sessions: stop the servers first\n$/)
  })

  it('is not distributed where there is nothing to distribute it on', async () => {
    const refusalIn = async (databaseUrl: string | undefined) => {
      const CROSSPOINT_DATABASE_URL = databaseUrl ?? ''
      const other = openCommandLine({ CROSSPOINT_DATABASE_URL, CROSSPOINT_DATA_DIR: dataDir })
      const { status, output, errors } = await other.run('distribute')
      other.remove()
      expect({ status, output }).toEqual({ status: 1, output: '' })
      return errors
    }
    expect(await refusalIn(undefined)).toBe(
      'crosspoint: the embedded store cannot be distributed: use PostgreSQL with Citus\n',
    )
    const { url } = cluster.coordinator
    expect(await refusalIn(url)).toContain('the database has no extension citus')
    await onDatabase(url, 'CREATE EXTENSION citus')
    expect(await refusalIn(url)).toBe(
      'crosspoint: the database has no workers: add them with citus_add_node(host, port)\n',
    )
    for (const { port } of cluster.workers)
      await onDatabase(
        cluster.coordinator.url.replace(`:${cluster.coordinator.port}`, `:${port}`),
        'CREATE EXTENSION citus',
      )
    const [worker] = cluster.workers
    await onDatabase(url, `SELECT citus_set_coordinator_host('127.0.0.1', ${cluster.coordinator.port})`)
    await onDatabase(url, `SELECT citus_add_node('127.0.0.1', ${worker?.port})`)
    expect(await refusalIn(url)).toBe('crosspoint: this database contains no store: start the server once\n')
  }, 120_000)

  it('counts a call that is sent twice once', async () => {
    const bolt = await account('bolt')
    const calls = callsOf(bolt, 0, 40)
    expect((await send(calls)).data).toMatchObject({ accepted: 40, duplicates: 0 })
    expect((await send(calls)).data).toMatchObject({ accepted: 0, duplicates: 40 })
    const both = await Promise.all([send(callsOf(bolt, 20, 40)), send(callsOf(bolt, 20, 40))])
    const accepted = both.map(({ data }) => data.accepted as number)
    expect(accepted.reduce((sum, count) => sum + count)).toBe(20)
    expect(await callsListed(bolt)).toBe(60)
    expect(await callsCounted(bolt)).toBe(60)
  })
})
