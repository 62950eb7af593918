import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makePlace, type Place } from '../support/databases.ts'
import { engines } from '../support/postgres.ts'
import { removeDataDir, type ServerProcess, startServerProcess } from '../support/server-process.ts'
import { credentialsOf } from '../support/world.ts'

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

describe.runIf(engines.includes('postgres'))('the server key of a store on several machines', () => {
  let place: Place
  let servers: ServerProcess[]

  const start = async (dataDir?: string) => {
    const server = await startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, dataDir)
    servers.push(server)
    return server
  }

  beforeEach(async () => {
    place = await makePlace('postgres')
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

  it('is agreed upon by machines that start at the same time', async () => {
    await Promise.all([start(), start(), start()])
    expect(new Set(servers.map(keyOf)).size).toBe(1)
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
