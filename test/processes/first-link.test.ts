// The link of the very first start: once, for half an hour, and nowhere but on the terminal.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { hasDesktop } from '../../src/config/config.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { hasTerminal, openCommandLine } from '../support/run/command-line.ts'
import { eventually } from '../support/run/eventually.ts'
import { program } from '../support/run/program.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { describeAnyEngine, makePlace, type Place } from '../support/servers/databases.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { type Answer, Client, createTransport } from '../support/world/client.ts'
import { freeRequests, openSession as openSessionOf } from '../support/world/session.ts'
import { credentialsOf } from '../support/world/world.ts'
import '../support/matchers/matchers.ts'

const linkPattern =
  /^Sign in: http:\/\/127\.0\.0\.1:(\d+)\/\?recovery=([0-9a-f]{42}) \(once, within 30 minutes\)$/m

const resetIdIn = (output: string) => linkPattern.exec(output)?.[2]

const printedIn = (output: string) => /password (\S+)/.exec(output)?.[1] ?? ''

const leaving: (() => unknown)[] = []
afterEach(async () => {
  for (const leave of leaving.splice(0).reverse()) await leave()
})

describeAnyEngine('the link of the first start', (engine) => {
  const newPlace = async () => {
    const place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
    leaving.push(() => place.remove())
    return place
  }

  const start = async (
    { dataDir, databaseUrl }: Place,
    environment: Record<string, string | undefined> = {},
  ) => {
    const settings = { CROSSPOINT_DATABASE_URL: databaseUrl, CROSSPOINT_ADMIN_PASSWORD: undefined }
    const server = await startServerProcess({ ...settings, ...environment }, dataDir)
    leaving.push(() => server.end())
    return server
  }

  const openSession = async (server: ServerProcess, password?: string) => {
    const session = await openSessionOf(server, undefined, password)
    leaving.push(session.close)
    return session
  }

  const callerOf = ({ port }: ServerProcess) => {
    const { send, close } = createTransport(port)
    leaving.push(close)
    const anyone = new Client(send)
    return {
      redeem: (resetId: string | undefined) => anyone.post('/v2/user_auth/recovery', { reset_id: resetId }),
      logIn: (password: string) =>
        anyone.put('/v2/user_auth', {
          credentials: credentialsOf('admin', password),
          account_name: 'master',
        }),
      as: (answer: Answer) => new Client(send, { 'x-auth-token': answer.body.auth_token ?? '' }),
    }
  }

  const storedIn = async ({ databaseUrl, dataDir }: Place) => {
    const db = databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(dataDir, 'crosspoint.db'))
    const tables = ['records', 'claims', 'audit_log', 'work']
    const rows = await Promise.all(tables.map((name) => db.all(`SELECT * FROM ${name}`)))
    await db.close()
    return rows
  }

  it('leads to a new password, while a printed one works until then', async () => {
    const server = await start(await newPlace())
    const printed = printedIn(server.output())
    const { redeem, logIn, as } = callerOf(server)
    await freeRequests(await openSession(server, printed))
    expect(linkPattern.exec(server.output())?.[1]).toBe(String(server.port))
    const answer = await redeem(resetIdIn(server.output()))
    expect(answer).toSucceed()
    const { account_id, owner_id, user_info } = answer.data
    expect(user_info.username).toBe('admin')
    expect(await logIn(printed)).toSucceed()
    const user = `/v2/accounts/${account_id}/users/${owner_id}`
    expect(await as(answer).get(user)).toFailWith(403, 'forbidden')
    const change = { password: 'Of-my-own-1', require_password_update: false }
    expect(await as(answer).patch(user, change)).toSucceed()
    const own = await logIn('Of-my-own-1')
    expect(own).toSucceed()
    expect((await as(own).get(user)).data).toMatchObject({ require_password_update: false })
    expect(await logIn(printed)).toFailWith(401, 'invalid_credentials')
  })

  it('outlives the process that printed it, is good once, and is not printed again or kept in clear', async () => {
    const place = await newPlace()
    const first = await start(place)
    const resetId = resetIdIn(first.output()) ?? ''
    expect(resetId).not.toBe('')
    await freeRequests(await openSession(first, printedIn(first.output())))
    await first.end('SIGKILL')
    expect(JSON.stringify(await storedIn(place))).toContain('"kind":"password_reset"')
    const second = await start(place)
    expect(second.output()).toBe(`Crosspoint is ready at ${second.url}\n`)
    const { redeem } = callerOf(second)
    const answers = await Promise.all([redeem(resetId), redeem(resetId), redeem(resetId)])
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const { status } of answers) expect([200, 400]).toContain(status)
    expect(await redeem(resetId)).toBreak({ user: ['not_found'] })
    await second.end()
    expect(first.errors() + second.errors()).not.toContain(resetId)
    expect(JSON.stringify(await storedIn(place))).not.toContain(resetId)
    for (const name of readdirSync(place.dataDir, { withFileTypes: true })) {
      if (name.isFile()) expect(readFileSync(join(place.dataDir, name.name)).includes(resetId)).toBe(false)
    }
  })

  it('is neither made nor printed where a password was given, and the page of a killed process is removed', async () => {
    const place = await newPlace()
    mkdirSync(place.dataDir, { recursive: true })
    const page = join(place.dataDir, 'sign-in.html')
    writeFileSync(page, 'the page of a process that was killed')
    const server = await start(place, { CROSSPOINT_ADMIN_PASSWORD: 'secret' })
    expect(existsSync(page)).toBe(false)
    expect(server.output()).toBe(`Crosspoint is ready at ${server.url}\n`)
    expect(await callerOf(server).logIn('secret')).toSucceed()
    await server.end()
    expect(JSON.stringify(await storedIn(place))).not.toContain('"kind":"password_reset"')
  })
})

// The variables that show which desktop this is, and whether the user is at another machine.
const surroundings = [
  ...['SSH_CONNECTION', 'SSH_CLIENT', 'SSH_TTY', 'WAYLAND_DISPLAY', 'XDG_CURRENT_DESKTOP', 'DESKTOP_SESSION'],
  ...['KDE_FULL_SESSION', 'GNOME_DESKTOP_SESSION_ID', 'MATE_DESKTOP_SESSION_ID', 'LXQT_SESSION_CONFIG'],
]

// The programs that open a link on a desktop, before the named browser.
const openers = ['xdg-mime', 'run-mailcap', 'mimeopen', 'dbus-send', 'xprop']

/** A user at a desktop that knows only the named browser. */
const atDesktop = () => {
  const person = openCommandLine({
    CROSSPOINT_PORT: '0',
    CROSSPOINT_DRAIN_SECONDS: '0',
    DISPLAY: ':99',
    ...Object.fromEntries(surroundings.map((name) => [name, ''])),
  })
  leaving.push(() => person.remove())
  const nothing = join(person.folder, 'nothing')
  mkdirSync(nothing)
  for (const name of openers) writeFileSync(join(nothing, name), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  const dataDir = join(person.folder, 'data')
  const path = [nothing, process.env.PATH].join(delimiter)
  const serve = (browser: string) =>
    person.inShell(
      `exec env PATH='${path}' BROWSER=${browser} CROSSPOINT_DATA_DIR=${dataDir} ${process.execPath} ${program} serve`,
    )
  return { person, dataDir, serve }
}

inFullRun(() => {
  it.skipIf(!hasTerminal)('opens the browser without telling the machine the link', async () => {
    const { person, dataDir, serve } = atDesktop()
    const [browser, seen] = [join(person.folder, 'browser'), join(person.folder, 'seen')]
    const look = `for page; do stat -c %a "\${page#file://}"; cat "\${page#file://}"; done`
    writeFileSync(browser, `#!/bin/sh\n{ echo "$@"; ${look}; } > ${seen}.part\nmv ${seen}.part ${seen}\n`, {
      mode: 0o755,
    })
    const shell = serve(browser)
    await shell.shows('is ready at')
    await eventually(
      () => existsSync(seen),
      (isSeen) => isSeen,
    )
    const [given, mode, ...page] = readFileSync(seen, 'utf8').split('\n')
    const link = /http:\S+recovery=[0-9a-f]{42}/.exec(shell.output())?.[0]
    expect(given).toBe(`file://${dataDir}/sign-in.html`)
    expect(mode).toBe('600')
    expect(page.join('\n')).toContain(`content="0; url=${link}"`)
    shell.type('\u0003')
    await shell.ended
    expect(existsSync(join(dataDir, 'sign-in.html'))).toBe(false)
  })
})

inFullRun(() => {
  it.skipIf(!hasTerminal)('serves on where the page for the browser cannot be written', async () => {
    const { dataDir, serve } = atDesktop()
    // In its place, and not to be removed as a file.
    mkdirSync(join(dataDir, 'sign-in.html'), { recursive: true })
    const shell = serve('/bin/true')
    await shell.shows('is ready at')
    const url = /is ready at (http:\S+)/.exec(shell.output())?.[1]
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    shell.type('\u0003')
    expect((await shell.ended).status).toBe(0)
    expect(shell.output()).not.toContain('could not start')
  })
})

it('opens the browser where a user sits at a desktop', () => {
  expect(hasDesktop({ DISPLAY: ':0' }, 'linux')).toBe(true)
  expect(hasDesktop({ WAYLAND_DISPLAY: 'wayland-0' }, 'linux')).toBe(true)
  expect(hasDesktop({}, 'darwin')).toBe(true)
  expect(hasDesktop({}, 'linux')).toBe(false)
  for (const name of ['CI', 'SSH_CONNECTION', 'SSH_CLIENT', 'SSH_TTY']) {
    expect(hasDesktop({ DISPLAY: ':0', [name]: '1' }, 'linux')).toBe(false)
    expect(hasDesktop({ [name]: '1' }, 'darwin')).toBe(false)
  }
})
