// Litestream next to a server, with the configuration of docs/guides/backup.md. Needs the program in PATH or in
// CROSSPOINT_TEST_LITESTREAM.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { eventually } from '../support/run/eventually.ts'
import { openSavedPlaces, type SavedPlace, type SavedPlaces } from '../support/run/saved.ts'
import { findProgram, lacks } from '../support/servers/installed.ts'
import { startServerProcess } from '../support/servers/server-process.ts'
import { openSession } from '../support/world/session.ts'

const litestream = process.env.CROSSPOINT_TEST_LITESTREAM || findProgram('litestream')
const lacking = lacks('litestream', litestream)

describe.skipIf(lacking)(`a continuous copy${lacking}`, () => {
  let places: SavedPlaces
  let origin: SavedPlace

  beforeAll(async () => {
    places = await openSavedPlaces('sqlite')
    origin = await places.make()
  })

  afterAll(() => places.end())

  /** The configuration of the guide, for this place. */
  const configuration = () => {
    const guide = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'guides', 'backup.md'), 'utf8')
    const block = /```\n(dbs:\n[\s\S]*?)```/.exec(guide)?.[1]
    if (!block) throw new Error('the guide has no configuration')
    return block.replace('/srv/crosspoint/data', origin.dataDir).replace('/backup/crosspoint', replica())
  }
  const replica = () => join(places.folder, 'replica')

  const run = (...args: string[]): ChildProcess =>
    spawn(litestream ?? '', args, { stdio: ['ignore', 'ignore', 'ignore'] })

  it('holds, after the server and its disk are gone, what was written until a second before', async () => {
    const server = await startServerProcess({}, origin.dataDir)
    const { admin, masterId, close } = await openSession(server)
    const file = join(places.folder, 'litestream.yml')
    writeFileSync(file, configuration())
    const copying = run('replicate', '-config', file)
    const made = await admin.put(`/v2/accounts/${masterId}/devices`, { name: 'Reception' })
    expect(made).toSucceed()
    const place = await places.make()
    const copy = join(place.dataDir, 'crosspoint.db')

    const restored = async () => {
      const restoring = run('restore', '-if-replica-exists', '-o', `${copy}.try`, `file://${replica()}`)
      await once(restoring, 'exit')
      return existsSync(`${copy}.try`)
    }
    // Only the copy shows how far it is.
    const holdsIt = async () => {
      if (!(await restored())) return false
      renameSync(`${copy}.try`, copy)
      const db = openSqlite(copy)
      const rows = await db.all("SELECT id FROM records WHERE kind = 'device'").finally(() => db.close())
      if (rows.length === 0) for (const ending of ['', '-wal', '-shm']) rmSync(copy + ending, { force: true })
      return rows.length > 0
    }
    await eventually(holdsIt, (isThere) => isThere)
    close()
    await server.end('SIGKILL')
    copying.kill('SIGKILL')
    cpSync(join(origin.dataDir, 'keys'), join(place.dataDir, 'keys'), { recursive: true })
    const verified = await place.commands.run('verify', '--json')
    expect(JSON.parse(verified.output)).toMatchObject({ sound: true, faults: [] })
    const again = await startServerProcess({}, place.dataDir)
    const session = await openSession(again)
    const phones = await session.admin.get(`/v2/accounts/${masterId}/devices`)
    expect(phones.data).toMatchObject([{ name: 'Reception' }])
    session.close()
    expect(await again.end()).toBe(0)
  })
})
