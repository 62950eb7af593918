// The data of a demo company, so that a new user has something to see.
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/lib/clock.ts'
import type { Json } from '../../src/lib/json.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { createStore } from '../../src/storage/store.ts'
import { runHere } from '../support/run/command-here.ts'
import { eventually } from '../support/run/eventually.ts'
import { countOf, inFullRun } from '../support/run/run-length.ts'
import { describeAnyEngine, makePlace, type Place } from '../support/servers/databases.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { type SmtpServer, startSmtpServer } from '../support/servers/smtp-server.ts'
import { Client, createTransport } from '../support/world/client.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'
import { storedRows } from '../support/world/stored-cdrs.ts'
import { credentialsOf } from '../support/world/world.ts'

const environmentOf = ({ dataDir, databaseUrl }: Place): Record<string, string> => ({
  CROSSPOINT_DATA_DIR: dataDir,
  ...(databaseUrl === undefined ? {} : { CROSSPOINT_DATABASE_URL: databaseUrl }),
})

const crosspointIn = (place: Place, ...args: string[]) => runHere(environmentOf(place), args)

const openStore = ({ dataDir, databaseUrl }: Place) =>
  databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(dataDir, 'crosspoint.db'))

// Records that only users create: the running server does not change their number.
const kinds = ['account', 'user', 'device', 'service_plan', 'task', 'webhook', 'alert', 'whitelabel']

/** How many of each there are in a store. */
const rowsIn = async (place: Place) => {
  const db = openStore(place)
  const records = await db.all<{ kind: string; rows: number }>(
    'SELECT kind, count(*) AS rows FROM records GROUP BY kind ORDER BY kind',
  )
  const [numbers] = await db.all<{ rows: number }>('SELECT count(*) AS rows FROM numbers')
  const [entries] = await db.all<{ rows: number }>('SELECT count(*) AS rows FROM ledger_entries')
  const legs = await storedRows(createStore(db, systemClock))
  await db.close()
  return {
    records: records.filter(({ kind }) => kinds.includes(kind)),
    numbers: Number(numbers?.rows),
    entries: Number(entries?.rows),
    legs: legs.length,
  }
}

interface Told {
  accounts: number
  users: number
  devices: number
  numbers: number
  calls: number
  sign_ins: { username: string; password?: string; account: string; role: string }[]
}

const calls = countOf(150, 700)
const password = 'shown-to-everybody-1'

describeAnyEngine('crosspoint demo', (engine) => {
  let place: Place
  let smtp: SmtpServer
  let server: ServerProcess
  let session: Session
  let told: Told
  let accounts: Json[]

  beforeAll(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
    smtp = await startSmtpServer()
    const settings = { CROSSPOINT_DATABASE_URL: place.databaseUrl, CROSSPOINT_SMTP_URL: smtp.url }
    server = await startServerProcess(settings, place.dataDir)
    session = await openSession(server)
    await freeRequests(session)
    const ran = await crosspointIn(place, 'demo', '--json', '--calls', String(calls), '--password', password)
    expect(ran).toMatchObject({ status: 0 })
    told = JSON.parse(ran.output)
    accounts = (await session.admin.get(`/v2/accounts/${session.masterId}/descendants?paginate=false`)).data
  })

  afterAll(async () => {
    session.close()
    await server.end()
    await Promise.all([smtp.close(), place.remove()])
  })

  const idOf = (name: string) => String(accounts.find((account) => account.name === name)?.id)
  const listOf = async (path: string): Promise<Json[]> =>
    (await session.admin.get(`/v2/accounts/${path}${path.includes('?') ? '&' : '?'}paginate=false`)).data

  const lengthOfAll = async (what: string) => {
    let length = 0
    for (const { id } of accounts) length += (await listOf(`${id}/${what}`)).length
    return length
  }

  it('counts exactly what it has made, while a server runs', async () => {
    expect(told.accounts).toBe(accounts.length)
    expect(told.users).toBe(await lengthOfAll('users'))
    expect(told.devices).toBe(await lengthOfAll('devices'))
    expect(told.calls).toBe(calls)
    expect(await rowsIn(place)).toMatchObject({ legs: calls, numbers: told.numbers })
  })

  it('lets every user that it names sign in', async () => {
    const { send, close } = createTransport(server.port)
    const [operator, ...others] = told.sign_ins
    expect(operator).toEqual({ username: 'admin', account: 'master', role: 'operator' })
    expect(others.filter(({ role }) => role === 'admin')).toHaveLength(accounts.length)
    for (const { username, account, password: own = '' } of others.slice(0, 4)) {
      const login = { credentials: credentialsOf(username, own), account_name: account }
      const answer = await new Client(send).put('/v2/user_auth', login)
      expect(answer.status, answer.text).toBe(201)
    }
    close()
  })

  it('has money, invoices and an account in debt', async () => {
    const invoices = await listOf(`${idOf('Juniper Hotel')}/invoices`)
    expect(invoices.length).toBeGreaterThan(1)
    expect(invoices.map(({ status }) => status)).toContain('paid')
    const debt = await session.admin.get(`/v2/accounts/${idOf('Redwood Outfitters')}/ledgers/total`)
    expect(debt.data.amount).toBeLessThan(0)
    const alerts = await listOf(`${idOf('Redwood Outfitters')}/alerts`)
    const kinds = alerts.map(({ category, clearable }) => [category, clearable])
    expect(kinds).toEqual(
      expect.arrayContaining([
        ['low_balance', false],
        ['fault', true],
      ]),
    )
  })

  it('has tasks with and without mistakes, and one that waits', async () => {
    const tasks = await listOf(`${session.masterId}/tasks`)
    expect(tasks.map(({ action, status, failure_count }) => [action, status, failure_count])).toEqual([
      ['import', 'pending', undefined],
      ['import', 'partial', 4],
    ])
  })

  it('has numbers of several states, a brand, limits, lists and a webhook that could not be delivered', async () => {
    const numbers = await session.admin.get(`/v2/accounts/${idOf('Meridian Dental Group')}/phone_numbers`)
    const states = Object.values(numbers.data.numbers as Record<string, Json>).map(({ state }) => state)
    expect(states).toEqual(expect.arrayContaining(['in_service', 'port_in']))
    const logo = await session.admin.get('/v2/whitelabel/harborvoice.example.com/logo')
    expect(logo.headers['content-type']).toBe('image/png')
    const lakeside = idOf('Lakeside Bakery')
    const list = await session.admin.get(`/v2/accounts/${lakeside}/access_lists`)
    expect(list.data.cidrs).toHaveLength(2)
    const attempts = await listOf(`${idOf('Cascade Freight')}/webhooks/attempts`)
    expect(attempts).toHaveLength(1)
    const closed = await session.admin.get(`/v2/accounts/${idOf('Old Mill Antiques')}`)
    expect(closed.data.enabled).toBe(false)
  })

  it('has people whose mail no server hands on', async () => {
    const lakeside = idOf('Lakeside Bakery')
    const users = await listOf(`${lakeside}/users`)
    const [someone] = users.map(({ email }) => String(email))
    expect(someone).toMatch(/\.invalid$/)
    const path = `/v2/accounts/${session.masterId}/notifications`
    const recipients = [someone, 'somebody@elsewhere.test']
    const preview = { to: { email_addresses: recipients } }
    expect((await session.admin.post(`${path}/alert/preview`, preview)).status).toBeLessThan(300)
    const outcomeFor = async (recipient: string | undefined) => {
      const rows: Json[] = (await session.admin.get(`${path}/smtplog`)).data
      return rows.find(({ to }) => to === recipient)?.outcome
    }
    const outcomes = () => Promise.all(recipients.map(outcomeFor))
    expect(await eventually(outcomes, (seen) => !seen.includes(undefined))).toEqual(['given_up', 'delivered'])
    expect(smtp.mails.flatMap(({ to }) => to)).toEqual(['somebody@elsewhere.test'])
  })

  it('leaves an audit that is sound', async () => {
    expect(await crosspointIn(place, 'audit', 'verify')).toMatchObject({ status: 0 })
  })

  it('is refused the second time, and changes nothing', async () => {
    const before = await rowsIn(place)
    expect(await crosspointIn(place, 'demo', '--calls', '10')).toEqual({
      status: 1,
      output: '',
      errors:
        'crosspoint: the master account already has sub-accounts, nothing was changed: use an empty store\n',
    })
    expect(await rowsIn(place)).toEqual(before)
  })
})

// A separate company takes ten seconds of processor time, most of it for the PDF files of its invoices.
inFullRun(() => {
  it('makes the master account of a new store', async () => {
    const place = await makePlace('sqlite')
    const ran = await crosspointIn(place, 'demo', '--calls', '50')
    expect(ran.status, ran.errors).toBe(0)
    const [, own = ''] = /^admin +(\S+) +operator +master$/m.exec(ran.output) ?? []
    const server = await startServerProcess({ CROSSPOINT_ADMIN_PASSWORD: undefined }, place.dataDir)
    expect(server.output()).toBe(`Crosspoint is ready at ${server.url}\n`)
    const session = await openSession(server, undefined, own)
    expect(session.masterId).toMatch(/^[0-9a-f]{32}$/)
    session.close()
    await server.end()
    await place.remove()
  })
})

it('prints how to call it', async () => {
  const place = await makePlace('sqlite')
  for (const args of [['--calls', 'many'], ['--password'], ['--other']])
    expect(await crosspointIn(place, 'demo', ...args)).toMatchObject({ status: 2, output: '' })
  const { output } = await crosspointIn(place, 'demo', '--help')
  expect(output).toMatch(/^Usage: crosspoint demo/)
  await place.remove()
})
