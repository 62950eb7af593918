// A store that was lost or only half copied, and directories that cannot hold one.
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { environmentOf, runHere } from '../support/run/command-here.ts'
import { openCommandLine } from '../support/run/command-line.ts'
import { eventually } from '../support/run/eventually.ts'
import { isFullRun } from '../support/run/run-length.ts'
import { makePlace, type Place, type PlaceOptions } from '../support/servers/databases.ts'
import { engines } from '../support/servers/postgres.ts'
import { copyFirstStart, type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { openSession } from '../support/world/session.ts'

let places: Place[]
let servers: ServerProcess[]

beforeEach(() => {
  places = []
  servers = []
})

afterEach(async () => {
  await Promise.all(servers.map((server) => server.end()))
  await Promise.all(places.map((place) => place.remove()))
})

const newPlace = async (engine: (typeof engines)[number] = 'sqlite', options: PlaceOptions = {}) => {
  const place = await makePlace(engine, options)
  places.push(place)
  return place
}

const start = async ({ dataDir, databaseUrl }: Place, ...args: string[]) => {
  const server = await startServerProcess({ CROSSPOINT_DATABASE_URL: databaseUrl }, dataDir, { args })
  servers.push(server)
  return server
}

/** The output of a server that does not start. */
const refusalOf = ({ dataDir, databaseUrl }: Pick<Place, 'dataDir' | 'databaseUrl'>) =>
  startServerProcess({ CROSSPOINT_DATABASE_URL: databaseUrl }, dataDir).then(
    () => 'it has started',
    (error: Error) => error.message,
  )

const accountsIn = (file: string) => {
  const connection = new DatabaseSync(file)
  try {
    return connection.prepare("SELECT count(*) AS count FROM records WHERE kind = 'account'").get()?.count
  } catch {
    return 0
  } finally {
    connection.close()
  }
}

const filesIn = (folder: string) => readdirSync(folder, { recursive: true }).map(String).sort()

const commandsOnStore = [['demo'], ['account', 'admin', '--reset', 'admin'], ['audit', 'verify']]

describe.runIf(engines.includes('sqlite'))('the file of the embedded store', () => {
  it('is a complete store as soon as the server is idle', async () => {
    const place = await newPlace()
    const server = await start(place)
    const { admin, masterId, close } = await openSession(server)
    expect(await admin.put(`/v2/accounts/${masterId}`, { name: 'Acme' })).toSucceed()
    close()
    const copy = await newPlace()
    const [from, to] = [place, copy].map(({ dataDir }) => join(dataDir, 'crosspoint.db'))
    await eventually(
      () => {
        copyFileSync(String(from), String(to))
        return accountsIn(String(to))
      },
      (accounts) => accounts === 2,
    )
    cpSync(join(place.dataDir, 'keys'), join(copy.dataDir, 'keys'), { recursive: true })
    const second = await openSession(await start(copy))
    const children = await second.admin.get(`/v2/accounts/${masterId}/children`)
    expect(children.data).toMatchObject([{ name: 'Acme' }])
    second.close()
  })

  it('is missed by every command if the key of the store is there, and nothing is created', async () => {
    const place = await newPlace()
    await copyFirstStart(place.dataDir)
    const file = join(place.dataDir, 'crosspoint.db')
    const key = join(place.dataDir, 'keys', 'server.key')
    const states = [
      {
        lose: () => rmSync(file),
        state: `${file} is missing. Restore a backup, copy the store there with its crosspoint.db-wal, or correct CROSSPOINT_DATA_DIR`,
      },
      {
        lose: () => writeFileSync(file, ''),
        state: `${file} is empty. Restore a backup (rename ${file} first), or copy the store with its crosspoint.db-wal`,
      },
    ]
    for (const { lose, state } of states) {
      lose()
      const before = filesIn(place.dataDir)
      const reason = `crosspoint: ${key} is the key of a store, but ${state}. To start an empty store on purpose, run \`crosspoint serve --new\`\n`
      for (const command of commandsOnStore)
        expect([command, await runHere(environmentOf(place), command)]).toEqual([
          command,
          { status: 1, output: '', errors: reason },
        ])
      expect(await refusalOf(place)).toContain(reason)
      expect(filesIn(place.dataDir)).toEqual(before)
    }
    const person = openCommandLine(environmentOf(place) as Record<string, string>)
    const misspelt = await person.run('serve', '--nwe')
    expect(misspelt).toMatchObject({
      status: 2,
      errors: expect.stringMatching(/^crosspoint: unknown argument --nwe\n/),
    })
    person.remove()
    const server = await start(place, '--new')
    const { admin, masterId, close } = await openSession(server)
    expect((await admin.get(`/v2/accounts/${masterId}/children`)).data).toEqual([])
    close()
  })

  it('is made by a first start that was killed before it declared its key', async () => {
    const place = await newPlace()
    mkdirSync(join(place.dataDir, 'keys'))
    writeFileSync(join(place.dataDir, 'keys', 'undeclared.key'), `${'ab'.repeat(32)}\n`)
    await start(place)
    expect(readdirSync(join(place.dataDir, 'keys'))).toEqual(['server.key'])
  })

  it('is named, or its directory is, by every command that cannot use it', async () => {
    const { dataDir } = await newPlace()
    const inside = (name: string) => join(dataDir, name)
    writeFileSync(inside('file'), '')
    symlinkSync('/nowhere/at/all', inside('dangling'))
    for (const folder of ['folder/crosspoint.db', 'key/keys/server.key', 'text', 'keys'])
      mkdirSync(inside(folder), { recursive: true })
    writeFileSync(inside('text/crosspoint.db'), 'This text is no database.')
    writeFileSync(inside('keys/keys'), '')
    const before = filesIn(dataDir)
    for (const name of ['file', 'file/below', 'dangling', 'folder', 'text', 'key', 'keys']) {
      const refused = {
        status: 1,
        output: '',
        errors: expect.stringMatching(new RegExp(`^crosspoint: .*${inside(name)}`, 'm')),
      }
      for (const command of [...commandsOnStore, ['backup', inside('backup')]])
        expect([command, await runHere({ CROSSPOINT_DATA_DIR: inside(name) }, command)]).toEqual([
          command,
          refused,
        ])
      // A server needs a separate process.
      if (!isFullRun && name !== 'folder') continue
      const person = openCommandLine({ CROSSPOINT_DATA_DIR: inside(name) })
      expect(await person.run('serve')).toEqual(refused)
      person.remove()
    }
    expect(filesIn(dataDir)).toEqual(before)
    expect(existsSync('/nowhere')).toBe(false)
  })
})

describe.runIf(engines.includes('postgres'))('an empty database', () => {
  it('is refused by the server and by commands if its encoding cannot store every text', async () => {
    const place = await newPlace('postgres', { encoding: 'LATIN1' })
    const reason =
      "crosspoint: the database has the encoding LATIN1: create one with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0\n"
    expect(await refusalOf(place)).toContain(reason)
    const embedded = await newPlace()
    await copyFirstStart(embedded.dataDir)
    const backup = join(embedded.dataDir, 'a.backup')
    expect(await runHere(environmentOf(embedded), ['backup', backup])).toMatchObject({ status: 0 })
    for (const command of [...commandsOnStore, ['restore', backup]])
      expect([command, await runHere(environmentOf(place), command)]).toEqual([
        command,
        { status: 1, output: '', errors: expect.stringContaining(reason) },
      ])
  })

  it('is refused next to the key of a store, and warned of next to an embedded store with accounts', async () => {
    const place = await newPlace('postgres')
    await copyFirstStart(place.dataDir)
    const file = join(place.dataDir, 'crosspoint.db')
    const unused = `The accounts of ${file} (1) are not in the database. To copy them, run \`crosspoint move --to postgres://...\` without CROSSPOINT_DATABASE_URL`
    expect(await refusalOf(place)).toContain(` is empty. ${unused}. To start`)
    rmSync(join(place.dataDir, 'keys'), { recursive: true })
    const server = await start(place)
    expect(server.faults()).toEqual([expect.stringContaining(JSON.stringify(unused))])
  })
})
