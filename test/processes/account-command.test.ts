// Restoring the access of admins, on the machine of a running server.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { runHere } from '../support/run/command-here.ts'
import { type CommandLine, openCommandLine } from '../support/run/command-line.ts'
import { describeAnyEngine, makePlace, type Place } from '../support/servers/databases.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { basicHeader, Client, createTransport, type Transport } from '../support/world/client.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'
import { credentialsOf } from '../support/world/world.ts'

describeAnyEngine('crosspoint account admin', (engine) => {
  let place: Place
  let server: ServerProcess
  let session: Session
  let commands: CommandLine
  let transport: Transport
  let made = 0

  beforeAll(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
    server = await startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)
    session = await openSession(server)
    transport = createTransport(server.port)
    await freeRequests(session)
    commands = openCommandLine({
      CROSSPOINT_DATA_DIR: place.dataDir,
      ...(place.databaseUrl === undefined ? {} : { CROSSPOINT_DATABASE_URL: place.databaseUrl }),
    })
  })

  afterAll(async () => {
    commands.remove()
    session.close()
    transport.close()
    await server.end()
    await place.remove()
  })

  const crosspoint = (...args: string[]) => commands.here('account', ...args)

  const logIn = (username: string, password: string) =>
    new Client(transport.send).put('/v2/user_auth', {
      credentials: credentialsOf(username, password),
      account_name: 'master',
    })

  /** A further admin of the master account, signed in. */
  const admin = async (fields: object = {}) => {
    made += 1
    const username = `admin${made}`
    const password = `${username}-secret`
    const names = { first_name: 'Some', last_name: 'Admin', priv_level: 'admin' }
    const users = `/v2/accounts/${session.masterId}/users`
    const { data } = await session.admin.put(users, { ...names, username, password, ...fields })
    const answer = await logIn(username, password)
    const own = session.as(answer.body.auth_token ?? '')
    return { username, password, own, path: `${users}/${data.id}` }
  }

  const openStore = () =>
    place.databaseUrl ? openPostgres(place.databaseUrl) : openSqlite(join(place.dataDir, 'crosspoint.db'))

  /** How many second factors the store holds of a user. */
  const factorsOf = async (path: string) => {
    const db = openStore()
    const id = path.slice(path.lastIndexOf('/') + 1)
    const found = await db.all("SELECT id FROM records WHERE kind = 'second_factor' AND id = $1", [id])
    await db.close()
    return found.length
  }

  it('resets a password while a server runs, and ends the sessions of the old one', async () => {
    const { username, password, own, path } = await admin()
    const basic = session.as('').with(basicHeader(session.masterId, credentialsOf(username, password)))
    expect(await own.get(path)).toSucceed()
    const { status, output, errors } = await crosspoint('admin', '--reset', username, '--json')
    expect({ status, errors }).toEqual({ status: 0, errors: '' })
    const result = JSON.parse(output)
    expect(result).toEqual({ username, password: expect.stringMatching(/^[\w-]{20}$/) })
    expect(await own.get(path)).toFailWith(401, 'invalid_credentials')
    expect(await basic.get(path)).toFailWith(401, 'invalid_credentials')
    expect(await logIn(username, password)).toFailWith(401, 'invalid_credentials')
    expect(await logIn(username, result.password)).toSucceed()
  })

  it('says the new password once, in words, whatever the case of the name', async () => {
    const { username } = await admin()
    const { output } = await crosspoint('admin', '--reset', username.toUpperCase())
    const [, name, password = ''] = /^user (\S+), password (\S+)\n/.exec(output) ?? []
    expect(name).toBe(username)
    expect(await logIn(username, password)).toSucceed()
  })

  it('enables the user and forgets the authenticator app', async () => {
    const { username, password, own, path } = await admin()
    await session.admin.put(`/v2/accounts/${session.masterId}/multi_factor`, {
      name: 'Codes',
      provider_name: 'otp',
      enabled: true,
    })
    const login = { credentials: credentialsOf(username, password), account_name: 'master' }
    expect(await own.put('/v2/multi_factor/qrcode', login)).toSucceed()
    expect(await factorsOf(path)).toBe(1)
    await session.admin.patch(path, { enabled: false })
    const { output } = await crosspoint('admin', '--reset', username, '--json')
    expect(await factorsOf(path)).toBe(0)
    expect(await logIn(username, JSON.parse(output).password)).toSucceed()
  })

  it('unlocks an account and a user, whose password stays', async () => {
    const { username, password, path } = await admin()
    const rules = { lock_account_on_failed_attempts: true, failed_attempts_until_lock: 1, lock_s: 600 }
    const settings = '/v2/system_configs/crossbar.auth'
    await session.admin.put(settings, { default: rules })
    await session.admin.patch(path, { enabled: false })
    await logIn(username, 'wrong')
    expect(await logIn(username, password)).toFailWith(401, 'account_is_locked')
    expect(await crosspoint('admin', '--unlock', username)).toEqual({
      status: 0,
      output: `user ${username} may sign in\n`,
      errors: '',
    })
    expect(await logIn(username, password)).toSucceed()
    const again = await crosspoint('admin', '--unlock', username, '--json')
    expect(again).toEqual({ status: 0, output: `${JSON.stringify({ username })}\n`, errors: '' })
    await session.admin.delete(settings)
  })

  it('makes a further admin', async () => {
    const { status, output } = await crosspoint('admin', '--create', 'Fresh', '--json')
    expect(status).toBe(0)
    const { username, password } = JSON.parse(output)
    expect(username).toBe('fresh')
    const answer = await logIn(username, password)
    expect(answer.data.user_info).toMatchObject({ username: 'fresh', priv_level: 'admin' })
  })

  it('changes nothing for an unknown name, for an ordinary user, and for a name that is taken', async () => {
    const users = `/v2/accounts/${session.masterId}/users`
    await session.admin.put(users, { first_name: 'O', last_name: 'U', username: 'ordinary' })
    const before = (await session.admin.get(users)).data
    expect(await crosspoint('admin', '--reset', 'unknown')).toEqual({
      status: 1,
      output: '',
      errors: 'crosspoint: the account master has no admin named "unknown"\n',
    })
    expect(await crosspoint('admin', '--unlock', 'ordinary')).toMatchObject({ status: 1, output: '' })
    expect(await crosspoint('admin', '--create', 'ordinary')).toEqual({
      status: 1,
      output: '',
      errors: 'crosspoint: nothing was changed: username: Username must be unique within account\n',
    })
    expect(await crosspoint('admin', '--create', 'no name')).toMatchObject({ status: 1, output: '' })
    expect((await session.admin.get(users)).data).toEqual(before)
  })

  it('says how it is called', async () => {
    expect(await crosspoint('--help')).toMatchObject({ status: 0, errors: '' })
    for (const args of [
      ['admin'],
      ['admin', '--reset'],
      ['user', '--reset', 'x'],
      ['admin', '--drop', 'x'],
    ]) {
      const { status, output, errors } = await crosspoint(...args)
      expect({ status, output }).toEqual({ status: 2, output: '' })
      expect(errors).toContain('Usage: crosspoint account admin --reset USERNAME')
    }
  })

  it('leaves an entry in the audit log, and no password anywhere', async () => {
    const { username } = await admin()
    const { password } = JSON.parse(
      (await commands.run('account', 'admin', '--reset', username, '--json')).output,
    )
    const db = openStore()
    const entries = await db.all<{ author: string }>(
      "SELECT author FROM audit_log WHERE kind = 'user' AND action = 'edited' ORDER BY at DESC, id DESC LIMIT 1",
    )
    expect(entries.map(({ author }) => JSON.parse(author))).toEqual([
      { requestId: expect.any(String), authMethod: 'command' },
    ])
    const tables = ['records', 'audit_log', 'claims']
    const content = await Promise.all(tables.map((name) => db.all(`SELECT * FROM ${name}`)))
    expect(JSON.stringify(content)).not.toContain(password)
    await db.close()
  })
})

it('asks for a first start where there is no master account yet', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'crosspoint-'))
  const answer = await runHere({ CROSSPOINT_DATA_DIR: dataDir, CROSSPOINT_DATABASE_URL: undefined }, [
    ...['account', 'admin', '--reset', 'admin'],
  ])
  expect(answer).toEqual({
    status: 1,
    output: '',
    errors: 'crosspoint: no master account yet: the first start of the server creates it\n',
  })
  rmSync(dataDir, { recursive: true, force: true })
})
