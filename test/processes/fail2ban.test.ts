// The filter of examples/fail2ban, tested with lines that a real server wrote.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { removeDataDir, type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { basicHeader, Client, createTransport, type Transport } from '../support/world/client.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'
import { credentialsOf } from '../support/world/world.ts'

const filterFile = join(import.meta.dirname, '../../examples/fail2ban/filter.d/crosspoint.conf')

// The pattern that fail2ban uses for <HOST>, as a JavaScript pattern.
const host =
  '(?:\\[?(?:(?:::f{4,6}:)?(?<ip4>(?:\\d{1,3}\\.){3}\\d{1,3})|(?<ip6>(?:[0-9a-fA-F]{1,4}::?|::){1,7}(?:[0-9a-fA-F]{1,4}|(?<=:):)))\\]?|(?<dns>[\\w\\-.^_]*\\w))'

const readFilter = () => {
  const lines = readFileSync(filterFile, 'utf8').split('\n')
  const value = (key: string) => {
    const found = lines.find((line) => line.startsWith(`${key} = `))
    if (!found) throw new Error(`the filter says no ${key}`)
    return found.slice(key.length + 3)
  }
  const date = value('datepattern')
    .replace('%%Y-%%m-%%dT%%H:%%M:%%S', '\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}')
    .replace('%%z', '(?:Z|[+-]\\d{2}:?\\d{2})')
  return {
    date: new RegExp(date),
    fails: new RegExp(value('failregex').replace('<HOST>', host)),
    ignores: new RegExp(value('ignoreregex')),
  }
}

const { date, fails, ignores } = readFilter()

/** The address that fail2ban would count a line for, if any. The date is cut out before, as fail2ban does. */
const offenderIn = (line: string) => {
  const rest = line.replace(date, '')
  const { ip4, ip6, dns } = fails.exec(rest)?.groups ?? {}
  return ignores.test(rest) ? undefined : (ip4 ?? ip6 ?? dns)
}

let server: ServerProcess
let session: Session
let transport: Transport

beforeAll(async () => {
  server = await startServerProcess()
  session = await openSession(server)
  transport = createTransport(server.port)
  await freeRequests(session)
})

afterAll(async () => {
  session.close()
  transport.close()
  await server.end()
  removeDataDir(server)
})

const from = (address: string, headers: Record<string, string> = {}) =>
  new Client(transport.send, { 'x-forwarded-for': address, ...headers })

/** The lines that the server logs during a test, up to the line of a request at the end. */
const linesOf = async (act: () => Promise<unknown>) => {
  const before = server.errors().length
  await act()
  const end = `end-${before}`
  await from('203.0.113.250', { 'x-request-id': end }).put('/v2/api_auth', { api_key: 'f'.repeat(64) })
  const logged = () => server.errors().slice(before)
  await eventually(logged, (seen) => seen.includes(end))
  const lines = logged()
    .split('\n')
    .filter((line) => line !== '' && !line.includes(end))
  const ofRequests = lines.filter((line) => line.includes('"message":"request"'))
  // They report the same refusals once more, and no client may be counted twice.
  expect(ofRequests.flatMap((line) => offenderIn(line) ?? [])).toEqual([])
  return lines.filter((line) => !ofRequests.includes(line))
}

const offendersOf = async (act: () => Promise<unknown>) =>
  (await linesOf(act)).flatMap((line) => offenderIn(line) ?? [])

const logIn = (caller: Client, fields: object = {}) =>
  caller.put('/v2/user_auth', {
    credentials: credentialsOf('admin', 'wrong'),
    account_name: 'master',
    ...fields,
  })

it('finds wrong passwords, keys, Basic credentials and reset ids, over IPv4 and IPv6', async () => {
  const basic = basicHeader(session.masterId, credentialsOf('admin', 'wrong'))
  const offenders = await offendersOf(async () => {
    expect((await logIn(from('198.51.100.1'))).status).toBe(401)
    expect((await logIn(from('2001:db8::7'), { account_name: 'nobody' })).status).toBe(401)
    expect((await from('198.51.100.2').put('/v2/api_auth', { api_key: 'a'.repeat(64) })).status).toBe(404)
    const path = `/v2/accounts/${session.masterId}`
    expect((await from('198.51.100.3', basic).get(path)).status).toBe(401)
    const reset = { reset_id: 'ab'.repeat(30) }
    expect((await from('198.51.100.4').post('/v2/user_auth/recovery', reset)).status).toBe(400)
  })
  expect(offenders).toEqual(['198.51.100.1', '2001:db8::7', '198.51.100.2', '198.51.100.3', '198.51.100.4'])
})

it('finds clients that keep trying a locked account', async () => {
  const settings = '/v2/system_configs/crossbar.auth'
  const rules = { lock_account_on_failed_attempts: true, failed_attempts_until_lock: 1, lock_s: 60 }
  await session.admin.put(settings, { default: rules })
  const lines = await linesOf(async () => {
    await logIn(from('198.51.100.5'))
    await logIn(from('198.51.100.6'))
  })
  await session.admin.delete(settings)
  await session.admin.delete(`/v2/accounts/${session.masterId}/security/login_lock`)
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { message: 'account locked', client_address: '198.51.100.5', reason: 'too many failed sign-ins' },
    { message: 'sign-in refused', client_address: '198.51.100.5' },
    { message: 'sign-in refused', client_address: '198.51.100.6', reason: 'the account is locked' },
  ])
  expect(lines.map(offenderIn)).toEqual([undefined, '198.51.100.5', '198.51.100.6'])
})

it('counts no offence of clients that sign in, forget a token or ask for too much', async () => {
  const offenders = await offendersOf(async () => {
    const right = { credentials: credentialsOf('admin', 'secret') }
    expect((await logIn(from('198.51.100.7'), right)).status).toBe(201)
    expect((await from('198.51.100.7').get('/v2/accounts')).status).toBeGreaterThanOrEqual(400)
    const stale = from('198.51.100.7', { 'x-auth-token': 'not.a.token' })
    expect((await stale.get(`/v2/accounts/${session.masterId}`)).status).toBe(401)
  })
  expect(offenders).toEqual([])
})

it('is led astray by nothing that a client chooses', async () => {
  const forged = '"}{"level":"info","message":"sign-in refused","client_address":"192.0.2.1",'
  const breaks = `a\u2028b\u0085\n${forged}\r\n`
  const headers = { 'x-request-id': '192.0.2.2', 'user-agent': '192.0.2.3' }
  const lines = await linesOf(async () => {
    await logIn(from('198.51.100.8', headers), { account_name: forged })
    await logIn(from('198.51.100.8', headers), { credentials: forged.slice(0, 64) })
    await from('198.51.100.8', headers).put('/v2/api_auth', { api_key: forged.slice(0, 64) })
    await from('198.51.100.8', headers).get(`/v2/${encodeURIComponent(breaks)}`)
  })
  expect(lines.map(offenderIn)).toEqual([...Array(3).fill('198.51.100.8'), undefined])
  expect(lines.join('\n')).not.toMatch(/192\.0\.2\.[13]|[\u0085\u2028\u2029]/)
  for (const line of lines) expect(JSON.parse(line).client_address).toBe('198.51.100.8')
})

it('reads lines that a system log has put its own words before', async () => {
  const [line = ''] = await linesOf(() => logIn(from('198.51.100.9')))
  expect(offenderIn(`Nov 22 20:17:21 host crosspoint[815]: ${line}`)).toBe('198.51.100.9')
})
