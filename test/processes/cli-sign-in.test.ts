// Signing in from a terminal or a script, staying signed in, and sessions that have ended.
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { hotp, totpStep } from '../../src/areas/accounts/multi-factor/rules.ts'
import { base32Decode } from '../support/run/base32.ts'
import { type CommandLine, hasTerminal, openCommandLine } from '../support/run/command-line.ts'
import { eventually } from '../support/run/eventually.ts'
import { createCuttable } from '../support/servers/cuttable.ts'
import { describeAnyEngine, makePlace, type Place } from '../support/servers/databases.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

const requestId = /^ {2}request ID [0-9a-f]{32}$/m

describeAnyEngine('crosspoint login', (engine) => {
  let place: Place
  let server: ServerProcess
  let session: Session
  let person: CommandLine

  beforeAll(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
    server = await startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)
    session = await openSession(server)
    await freeRequests(session)
    const accounts = `/v2/accounts/${session.masterId}`
    const { data } = await session.admin.put(accounts, { name: 'Acme', realm: 'acme.test' })
    const names = { first_name: 'Ada', last_name: 'Lovelace', priv_level: 'admin' }
    await session.admin.put(`/v2/accounts/${data.id}/users`, {
      ...names,
      username: 'ada',
      password: 'analytical-engine',
    })
  })

  afterAll(async () => {
    session.close()
    await server.end()
    await place.remove()
  })

  beforeEach(() => {
    person = openCommandLine()
  })

  afterEach(() => person.remove())

  const signIn = (
    profile = 'default',
    who = ['--account', 'master', '--username', 'admin'],
    secret = 'secret',
  ) => person.hereWith(`${secret}\n`, 'login', server.url, '--profile', profile, ...who, '--password-stdin')

  const tokenOf = (profile = 'default'): string =>
    JSON.parse(readFileSync(person.profileFile(profile), 'utf8')).session.token

  const endSession = (profile?: string) => session.as(tokenOf(profile)).delete('/v2/token_auth')

  const accountShown = async (...args: string[]) =>
    JSON.parse((await person.here('accounts', 'show', '--json', ...args)).output).name

  it('keeps the session, without the password, where only its owner can read it', async () => {
    expect(await signIn()).toEqual({
      status: 0,
      output: '',
      errors: `Signed in at ${server.url} as admin of master (profile default)\n`,
    })
    const file = person.profileFile()
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700)
    expect(readFileSync(file, 'utf8')).not.toContain('"secret"')
    expect(await accountShown()).toBe('master')
  })

  it('has as many sign-ins as there are profiles, by account name or by realm', async () => {
    await signIn()
    await signIn('ada', ['--realm', 'acme.test', '--username', 'ada'], 'analytical-engine')
    expect(await accountShown()).toBe('master')
    expect(await accountShown('--profile', 'ada')).toBe('Acme')
    expect((await person.here('logout', '--profile', 'ada')).status).toBe(0)
    expect(await person.here('accounts', 'list', '--profile', 'ada')).toEqual({
      status: 3,
      output: '',
      errors: 'crosspoint: not signed in (profile ada): run crosspoint login --profile ada\n',
    })
    expect(await accountShown()).toBe('master')
  })

  it('reports a wrong password with the request id, and remembers nothing', async () => {
    const { status, output, errors } = await signIn('default', undefined, 'wrong')
    expect({ status, output }).toEqual({ status: 1, output: '' })
    expect(errors).toContain('crosspoint: 401 invalid credentials\n')
    expect(errors).toMatch(requestId)
    expect((await person.here('accounts', 'list')).status).toBe(3)
  })

  it('says what is missing where there is no terminal', async () => {
    expect(await person.here('login', server.url)).toEqual({
      status: 1,
      output: '',
      errors: 'crosspoint: --account is missing, and there is no terminal to prompt on\n',
    })
    const { errors } = await person.here('login', server.url, '--api-key')
    expect(errors).toBe('crosspoint: the API key is missing on standard input\n')
    expect((await person.here('login', 'http://[')).errors).toContain('is not the address of a server')
    expect((await person.here('login', '--profile', '../x')).errors).toContain('is not a profile name')
  })

  it('says that a session has ended, each time until the next sign-in', async () => {
    await signIn()
    await endSession()
    for (const _time of [1, 2]) {
      const { status, output, errors } = await person.here('accounts', 'list')
      expect({ status, output }).toEqual({ status: 3, output: '' })
      expect(errors).toContain('crosspoint: the session has ended')
      expect(errors).toContain('crosspoint login')
    }
    await signIn()
    expect(await accountShown()).toBe('master')
  })

  it('opens a new session of an API key when the old one has ended', async () => {
    const { data } = await session.admin.put(`/v2/accounts/${session.masterId}/api_keys`, {
      name: 'Robot',
      scopes: ['*'],
    })
    const { status, errors } = await person.hereWith(`${data.key}\n`, 'login', server.url, '--api-key')
    expect({ status, errors }).toEqual({
      status: 0,
      errors: `Signed in at ${server.url} as an API key of master (profile default)\n`,
    })
    const first = tokenOf()
    await endSession()
    expect(await accountShown()).toBe('master')
    expect(tokenOf()).not.toBe(first)
    const { session: _ended, ...rest } = JSON.parse(readFileSync(person.profileFile(), 'utf8'))
    writeFileSync(person.profileFile(), JSON.stringify(rest))
    expect(await accountShown()).toBe('master')
  })

  it('ends the session at the server too', async () => {
    await signIn()
    const token = tokenOf()
    const { status, errors } = await person.here('logout')
    expect({ status, errors }).toEqual({
      status: 0,
      errors: `Signed out of ${server.url} (profile default)\n`,
    })
    expect(await session.as(token).get(`/v2/accounts/${session.masterId}`)).toMatchObject({ status: 401 })
  })

  it('forgets the session also where the server is away', async () => {
    const way = await createCuttable(server.url)
    await person.hereWith(
      'secret\n',
      'login',
      way.url,
      '--account',
      'master',
      '--username',
      'admin',
      '--password-stdin',
    )
    way.cut()
    const { status, errors } = await person.here('logout')
    expect({ status, errors }).toEqual({
      status: 0,
      errors: expect.stringContaining('The server was unreachable'),
    })
    expect((await person.here('accounts', 'list')).status).toBe(3)
    await way.close()
  })

  it('waits for a server that is away for a moment, and says so', async () => {
    const way = await createCuttable(server.url)
    await person.hereWith(
      'secret\n',
      'login',
      way.url,
      '--account',
      'master',
      '--username',
      'admin',
      '--password-stdin',
    )
    way.cut()
    const command = person.start('accounts', 'show', '--json')
    await eventually(
      () => command.errors(),
      (errors) => errors.includes('Server unreachable: retrying in'),
    )
    way.mend()
    const { status, output } = await command.ended
    expect({ status, name: JSON.parse(output).name }).toEqual({ status: 0, name: 'master' })
    await way.close()
  })

  it('continues with the second factor', async () => {
    const { data } = await session.admin.put(`/v2/accounts/${session.masterId}`, { name: 'Careful' })
    const own = `/v2/accounts/${data.id}`
    const names = { first_name: 'Grace', last_name: 'Hopper', priv_level: 'admin' }
    await session.admin.put(`${own}/users`, { ...names, username: 'grace', password: 'nanoseconds' })
    await session.admin.put(`${own}/multi_factor`, { name: 'App', provider_name: 'otp', enabled: true })
    const security = { auth_modules: { cb_user_auth: { multi_factor: { enabled: true } } } }
    await session.admin.patch(`${own}/security`, security)
    const who = ['--account', 'Careful', '--username', 'grace']
    expect((await signIn('default', who, 'nanoseconds')).errors).toContain(
      'sign in on a terminal to set it up',
    )
    if (!hasTerminal) return
    const args = ['login', server.url, ...who]
    const codeIn = (output: string) => {
      const secret = /secret=([A-Z2-7]+)/.exec(output)?.[1] ?? ''
      return hotp(base32Decode(secret) ?? new Uint8Array(), totpStep(Date.now() / 1000))
    }
    const ended = await person.atTerminal(args, [
      ['Password', 'nanoseconds\r'],
      ['Code of', (output) => `${codeIn(output)}\r`],
    ])
    expect(ended).toMatchObject({ status: 0, output: expect.stringContaining('as grace of Careful') })
    const [recoveryCode = ''] =
      /(?<=^ {2})\S+/m.exec(ended.output.replaceAll('\r', '').split('only now:')[1] ?? '') ?? []
    const again = await signIn('default', [...who, '--code', recoveryCode], 'nanoseconds')
    expect(again).toMatchObject({ status: 0 })
  })

  it.skipIf(!hasTerminal)('asks at a terminal for missing values, and shows no password', async () => {
    const ended = await person.atTerminal(
      ['login'],
      [
        ['Server', `\x15${server.url}\r`],
        ['Account', 'master\r'],
        ['User', 'admin\r'],
        ['Password', 'secret\r'],
      ],
    )
    expect(ended).toMatchObject({ status: 0, output: expect.stringContaining('Signed in at') })
    expect(ended.output).not.toContain('secret')
    expect(await accountShown()).toBe('master')
  })

  it.skipIf(!hasTerminal)(
    'asks at a terminal for the password again when the session has ended',
    async () => {
      await signIn()
      await endSession()
      const ended = await person.atTerminal(['accounts', 'show'], [['has ended', 'secret\r']])
      expect(ended).toMatchObject({ status: 0, output: expect.stringContaining('master.localhost') })
      expect(await accountShown()).toBe('master')
    },
  )

  it.skipIf(!hasTerminal)('ends quietly when the user cancels a prompt', async () => {
    const ended = await person.atTerminal(['login', server.url], [['Account', '\x03']])
    expect(ended.status).toBe(130)
    expect(ended.output).not.toContain('Error')
  })
})
