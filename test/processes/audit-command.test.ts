// Verifying the audit log by its chains, on the machine of a running server.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { runHere } from '../support/run/command-here.ts'
import { describeAnyEngine, makePlace, type Place } from '../support/servers/databases.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { openSession, type Session } from '../support/world/session.ts'

describeAnyEngine('crosspoint audit verify', (engine) => {
  let place: Place
  let server: ServerProcess
  let session: Session

  beforeAll(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
    server = await startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)
    session = await openSession(server)
  })

  afterAll(async () => {
    session.close()
    await server.end()
    await place.remove()
  })

  const crosspoint = async (...args: string[]) => {
    const environment = { CROSSPOINT_DATA_DIR: place.dataDir, CROSSPOINT_DATABASE_URL: place.databaseUrl }
    const { status, output } = await runHere(environment, ['audit', ...args])
    return { status, output }
  }

  const alter = async (accountId: string, id: string, from: string, to: string) => {
    const db = place.databaseUrl
      ? openPostgres(place.databaseUrl)
      : openSqlite(`${place.dataDir}/crosspoint.db`)
    try {
      const sql = 'UPDATE audit_log SET changes = replace(changes, $3, $4) WHERE account_id = $1 AND id = $2'
      await db.write({ statements: [{ sql, params: [accountId, id, from, to] }], stale: [] })
    } finally {
      await db.close()
    }
  }

  it('ends with 0 while all is as it was written, and names the account and the entry that is not', async () => {
    const { admin, masterId } = session
    const made = await admin.put(`/v2/accounts/${masterId}/devices`, { name: 'Before' })
    expect(made).toSucceed()
    const path = `/v2/accounts/${masterId}/devices/${made.data.id}`
    expect(await admin.patch(path, { name: 'After' })).toSucceed()
    const [edited] = (await admin.get(`${path}/audit`)).data
    expect(await crosspoint('verify')).toEqual({
      status: 0,
      output: expect.stringMatching(/^\d+ entries of \d+ accounts: sound\n$/),
    })

    await alter(masterId, edited.id, 'After', 'Aftes')
    const told = await crosspoint('verify')
    expect(told.status).toBe(1)
    expect(told.output).toContain(`account ${masterId}: entry ${edited.id} was altered\n`)
    const { status, output } = await crosspoint('verify', '--json')
    expect(status).toBe(1)
    expect(JSON.parse(output)).toEqual({
      sound: false,
      accounts: expect.any(Number),
      entries: expect.any(Number),
      faults: [
        {
          account_id: masterId,
          entry_id: edited.id,
          sequence: Number(edited.sequence),
          reason: 'was altered',
        },
      ],
    })

    await alter(masterId, edited.id, 'Aftes', 'After')
    expect(JSON.parse((await crosspoint('verify', '--json')).output)).toMatchObject({
      sound: true,
      faults: [],
    })
  })

  it('prints its usage, and refuses other commands', async () => {
    expect(await crosspoint('--help')).toEqual({ status: 0, output: expect.stringContaining('audit verify') })
    expect((await crosspoint('repair')).status).toBe(2)
    expect((await crosspoint('verify', '--fix')).status).toBe(2)
  })
})
