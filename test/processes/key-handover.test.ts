import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { countOf, inFullRun } from '../support/run/run-length.ts'
import { makePlace, type Place } from '../support/servers/databases.ts'
import { engines } from '../support/servers/postgres.ts'
import { removeDataDir, type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { credentialsOf } from '../support/world/world.ts'

const keyOf = (server: ServerProcess) => readFileSync(join(server.dataDir, 'keys', 'server.key'), 'utf8')

const apiKeyOf = async (server: ServerProcess) => {
  const body = JSON.stringify({
    data: { credentials: credentialsOf('admin', 'secret'), account_name: 'master' },
  })
  const session = await fetch(`${server.url}/v2/user_auth`, { method: 'PUT', body })
  const { auth_token: token, data } = (await session.json()) as {
    auth_token: string
    data: { account_id: string }
  }
  const answer = await fetch(`${server.url}/v2/accounts/${data.account_id}/api_key`, {
    headers: { 'x-auth-token': token },
  })
  return ((await answer.json()) as { data: { api_key: string } }).data.api_key
}

const keepers = 4
const keeperSource = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { rounds, keyring, dataDir } = workerData
  import(keyring).then(({ keepServerKey, newServerKey, readServerKey }) => {
    // Each round begins when all threads have reached it.
    const gate = new Int32Array(workerData.gate)
    const kept = []
    for (let round = 0; round < rounds; round++) {
      Atomics.add(gate, 0, 1)
      while (Atomics.load(gate, 0) < (round + 1) * ${keepers});
      const place = dataDir + '/' + round
      const seen = readServerKey(place)
      kept.push((seen ?? keepServerKey(place, newServerKey())).toString('hex'))
    }
    parentPort.postMessage(kept)
  })
`

describe('the server key of a data directory', () => {
  it('is one and whole for all that come to it at the same time', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'crosspoint-test-'))
    const keyring = new URL('../../src/auth/keyring.ts', import.meta.url).href
    const workerData = { rounds: countOf(40, 200), keyring, dataDir, gate: new SharedArrayBuffer(4) }
    const workers = Array.from(
      { length: keepers },
      () => new Worker(keeperSource, { eval: true, workerData }),
    )
    const keptBy = async (worker: Worker) => (await once(worker, 'message'))[0] as string[]
    try {
      const [first, ...others] = await Promise.all(workers.map(keptBy))
      for (const other of others) expect(other).toEqual(first)
      expect(readdirSync(join(dataDir, '0', 'keys'))).toEqual(['server.key'])
    } finally {
      await Promise.all(workers.map((worker) => worker.terminate()))
      rmSync(dataDir, { recursive: true })
    }
  })
})

describe.runIf(engines.includes('postgres'))('the server key of a store on several machines', () => {
  let place: Place
  let servers: ServerProcess[]

  const start = async (dataDir?: string) => {
    const server = await startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, dataDir)
    servers.push(server)
    return server
  }

  beforeEach(async () => {
    place = await makePlace('postgres', { isUpgraded: true })
    servers = []
  })

  afterEach(async () => {
    await Promise.all(servers.map((server) => server.end()))
    for (const server of servers) removeDataDir(server)
    await place.remove()
  })

  it('is handed over to a machine that joins while another server runs', async () => {
    const first = await start()
    const second = await start()
    expect(keyOf(second)).toBe(keyOf(first))
    expect(await apiKeyOf(second)).toBe(await apiKeyOf(first))
  })

  inFullRun(() => {
    it('is agreed upon by machines that start at the same time', async () => {
      await Promise.all([start(), start(), start()])
      expect(new Set(servers.map(keyOf)).size).toBe(1)
    })
  })

  it('is refused when it is not the key that the store was set up with', async () => {
    const first = await start()
    await first.end()
    const file = join(first.dataDir, 'keys', 'server.key')
    rmSync(file)
    writeFileSync(file, `${'ab'.repeat(32)}\n`)
    await expect(start(first.dataDir)).rejects.toThrow(/set up with the key of another machine/)
    expect(readFileSync(file, 'utf8')).toBe(`${'ab'.repeat(32)}\n`)
  })
})
