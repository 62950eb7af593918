// Backups by an address that names a primary and its standby.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type CommandLine, openCommandLine } from '../support/run/command-line.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { lacksDeps, pathOfDeps, tools } from '../support/run/saved.ts'
import { engines } from '../support/servers/postgres.ts'
import { startCluster } from '../support/servers/postgres-cluster.ts'
import { startServerProcess } from '../support/servers/server-process.ts'
import { openSession } from '../support/world/session.ts'

describe.skipIf(!engines.includes('postgres') || lacksDeps)(`a store of several hosts${lacksDeps}`, () => {
  let folder: string
  const opened: CommandLine[] = []

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'crosspoint-saved-'))
  })

  afterAll(() => {
    for (const commands of opened) commands.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  const commandsOn = (url: string, dataDir: string) => {
    const environment = { CROSSPOINT_DATABASE_URL: url, CROSSPOINT_DATA_DIR: dataDir, PATH: pathOfDeps }
    const commands = openCommandLine(environment)
    opened.push(commands)
    return commands
  }

  inFullRun(() => {
    it('is saved, verified and restored by the address of all of them', async () => {
      const cluster = await startCluster({ programs: tools })
      onTestFinished(() => cluster.close())
      /** Both hosts, the standby first. */
      const urlOf = (database: string) => {
        const url = new URL(cluster.urlOf('primary'))
        const hosts = [cluster.urlOf('standby'), cluster.urlOf('primary')].map((one) => new URL(one).host)
        return `postgres://${url.username}:${url.password}@${hosts.join(',')}/${database}`
      }
      const origin = join(folder, 'origin')
      const server = await startServerProcess({ CROSSPOINT_DATABASE_URL: urlOf('crosspoint') }, origin)
      const session = await openSession(server)
      session.close()
      await server.end()
      const commands = commandsOn(urlOf('crosspoint'), origin)
      const file = join(folder, 'backup')
      expect(await commands.here('backup', file)).toMatchObject({ status: 0, errors: '' })
      expect(await commands.here('verify')).toMatchObject({ status: 0, errors: '' })

      await cluster.ask((client) => client.query('CREATE DATABASE restored TEMPLATE template0'))
      const there = commandsOn(urlOf('restored'), join(folder, 'restored'))
      expect(await there.here('restore', file)).toMatchObject({ status: 0, errors: '' })
      expect(await there.here('verify')).toMatchObject({ status: 0, errors: '' })
    })
  })

  it('says that no host takes writes when that is so', async () => {
    const dataDir = join(folder, 'keyed')
    mkdirSync(join(dataDir, 'keys'), { recursive: true })
    writeFileSync(join(dataDir, 'keys', 'server.key'), `${'0'.repeat(64)}\n`)
    const commands = commandsOn('postgres://u@127.0.0.1:1,127.0.0.1:2/name', dataDir)
    const { status, errors } = await commands.here('backup', join(folder, 'none'))
    expect(status).toBe(1)
    expect(errors).toMatch(
      /^crosspoint: no server accepts writes \(127\.0\.0\.1:[12]: [^\n]*ECONNREFUSED[^\n]*\)\n$/,
    )
  })
})
