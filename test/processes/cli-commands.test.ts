// What the command line does at a server. Most commands run in the process of the tests; those that need a terminal, a shell or a
// signal run in their own.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { gregorianOfUnix } from '../../src/lib/gregorian.ts'
import { type CommandLine, hasTerminal, openCommandLine } from '../support/run/command-line.ts'
import { eventually } from '../support/run/eventually.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { describeAnyEngine, makePlace, type Place } from '../support/servers/databases.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { freeRequests, openSession, type Session } from '../support/world/session.ts'

const pageSize = 50

describeAnyEngine('crosspoint at a server', (engine) => {
  let place: Place
  let server: ServerProcess
  let session: Session
  let person: CommandLine
  let made = 0

  beforeAll(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
    server = await startServerProcess({ CROSSPOINT_DATABASE_URL: place.databaseUrl }, place.dataDir)
    session = await openSession(server)
    await freeRequests(session)
    person = openCommandLine()
    const who = ['--account', 'master', '--username', 'admin', '--password-stdin']
    await person.hereWith('secret\n', 'login', server.url, ...who)
  })

  afterAll(async () => {
    person.remove()
    session.close()
    await server.end()
    await place.remove()
  })

  const master = () => `/v2/accounts/${session.masterId}`
  const crosspoint = (...args: string[]) => person.here(...args)
  const json = async (...args: string[]) => JSON.parse((await crosspoint(...args, '--json')).output)

  /** An account below, with a name that no other has. */
  const account = async (called?: string, parent = session.masterId) => {
    made += 1
    const name = called ?? `Account ${made}`
    const answer = await session.admin.put(`/v2/accounts/${parent}`, { name })
    expect(answer.status).toBe(201)
    const id = String(answer.data.id)
    return { id, name, path: `/v2/accounts/${id}` }
  }

  const linesOf = (output: string) => output.trimEnd().split('\n')

  it('lists over the ends of pages, as a table and as one document of JSON', async () => {
    const parent = await account()
    for (let index = 0; index < pageSize + 3; index += 1) await account(`Shop ${index}`, parent.id)
    const rows = await json('accounts', 'list', '--account', parent.name)
    expect(rows).toHaveLength(pageSize + 3)
    expect(new Set(rows.map(({ id }: { id: string }) => id)).size).toBe(pageSize + 3)
    const { output, errors } = await crosspoint('accounts', 'list', '--account', parent.id)
    expect(errors).toBe('')
    const [titles, ...lines] = linesOf(output)
    expect(titles).toMatch(/^NAME +REALM +BELOW {2}ID$/)
    expect(lines).toHaveLength(pageSize + 3)
    const few = await json('accounts', 'list', '--account', parent.id, '--limit', `${pageSize + 1}`)
    expect(few).toEqual(rows.slice(0, pageSize + 1))
    const small = await json('accounts', 'list', '--account', parent.id, '-q', 'page_size=7')
    expect(small).toEqual(rows)
  })

  it('makes accounts, shows them by name and draws their tree', async () => {
    const top = await account()
    const { status, output } = await crosspoint('accounts', 'create', 'شركة الاتصالات', '--account', top.name)
    expect(status).toBe(0)
    const arabic = output.trim()
    await account('日本電話', arabic)
    expect((await json('accounts', 'show', 'شركة الاتصالات')).id).toBe(arabic)
    const tree = await crosspoint('accounts', 'tree', '--account', top.id)
    expect(tree.output).toMatch(/^Account \d+ .*\n└─ شركة الاتصالات {2}.*\n {3}└─ 日本電話 {2}.*\n$/)
    expect(await json('accounts', 'tree', '--account', top.id)).toMatchObject({
      id: top.id,
      children: [{ id: arabic, children: [{ name: '日本電話', children: [] }] }],
    })
  })

  it('says what is wrong with a name: unknown, ambiguous', async () => {
    const nobody = await crosspoint('accounts', 'show', 'Unknown')
    expect(nobody).toEqual({
      status: 1,
      output: '',
      errors: 'crosspoint: no account is named "Unknown" here or below\n',
    })
    const [first, second] = [await account(), await account()]
    await session.admin.put('/v2/system_configs/crossbar.accounts', {
      default: { ensure_unique_name: false },
    })
    await account('Twins', first.id)
    await account('Twins', second.id)
    const twins = await crosspoint('numbers', 'list', '--account', 'Twins')
    const errors = 'crosspoint: more than one account is named "Twins": use the account ID\n'
    expect(twins).toEqual({ status: 1, output: '', errors })
    await session.admin.delete('/v2/system_configs/crossbar.accounts')
  })

  it('prints a refusal on standard error: field, rule and request id', async () => {
    const { status, output, errors } = await crosspoint('accounts', 'create', 'Bad', '--realm', 'b@d realm')
    expect({ status, output }).toEqual({ status: 1, output: '' })
    expect(errors).toMatch(
      /^crosspoint: 400 validation error\n {2}realm \(pattern\): .*\n {2}request ID [0-9a-f]{32}\n$/,
    )
  })

  it.skipIf(!hasTerminal)('cuts what is too wide for a terminal, and never an id', async () => {
    const parent = await account()
    const names = ['長'.repeat(60), 'شركة الاتصالات '.repeat(5).trim(), 'x'.repeat(128)]
    for (const name of names) await account(name, parent.id)
    const { output } = await person.atTerminal(['accounts', 'list', '--account', parent.id], [], 80)
    const ids = (await json('accounts', 'list', '--account', parent.id)).map(({ id }: { id: string }) => id)
    const lines = linesOf(output.replaceAll('\r', '')).slice(1)
    expect(lines.map((line) => line.slice(-32)).sort()).toEqual(ids.sort())
    for (const line of lines) expect(line).toContain('…')
    expect(output).toContain('\u001b[1mNAME')
    const piped = await crosspoint('accounts', 'list', '--account', parent.id)
    for (const name of names) expect(piped.output).toContain(name)
    expect(piped.output).not.toContain('\u001b')
  })

  inFullRun(() => {
    it.skipIf(!hasTerminal)('uses no colours where NO_COLOR is set', async () => {
      await account()
      const { output } = await person.atTerminal(['accounts', 'list', '--limit', '1'])
      expect(output).toContain('\u001b[1m')
      const plain = openCommandLine({ NO_COLOR: '1', XDG_CONFIG_HOME: person.folder })
      expect((await plain.atTerminal(['accounts', 'list', '--limit', '1'])).output).not.toContain('\u001b[1m')
      plain.remove()
    })
  })

  it('prints nothing of a record that a terminal would obey', async () => {
    const parent = await account()
    const answer = await session.admin.put(`${parent.path}/devices`, { name: 'c\u202ed' })
    expect(answer.status).toBe(201)
    const after = ['--account', parent.id, '--type', 'device.created']
    expect((await crosspoint('events', ...after)).output).toContain('c\ufffdd')
    const { output } = await crosspoint('events', ...after, '--json')
    expect(output).not.toContain('\u202e')
    expect(JSON.parse(output).after.name).toBe('c\u202ed')
  })

  it.skipIf(!hasTerminal)('shows a file harmlessly at a terminal, and as it is elsewhere', async () => {
    const parent = await account()
    await session.admin.put(`${parent.path}/devices`, { name: 'a\u202eb' })
    const asked = ['api', 'GET', `/accounts/${parent.id}/devices`, '--accept', 'text/csv']
    expect((await crosspoint(...asked)).output).toContain('a\u202eb')
    const { output } = await person.atTerminal(asked)
    expect(output).toContain('a\ufffdb')
    expect(output).not.toContain('\u202e')
  })

  it('says who has signed in without what a terminal would obey', async () => {
    const { id, path } = await account('Evil\u202e')
    const user = {
      first_name: 'A',
      last_name: 'B',
      username: 'eve',
      password: 'evil-secret',
      priv_level: 'admin',
    }
    expect((await session.admin.put(`${path}/users`, user)).status).toBe(201)
    const who = ['--profile', 'evil', '--account', id, '--username', 'eve', '--password-stdin']
    const { status, errors } = await person.hereWith('evil-secret\n', 'login', server.url, ...who)
    expect(status).toBe(0)
    expect(errors).toContain('as eve of Evil\ufffd')
    expect(errors).not.toContain('\u202e')
  })

  /** A customer who pays for numbers, signed in under a separate profile. */
  const customer = async () => {
    const { id, path, name } = await account()
    await session.admin.patch(path, { wnm_allow_additions: true })
    const plan = { number_carriers: { _all: { name: 'Number', rate: 1.5, activation_charge: 3 } } }
    const { data } = await session.admin.put(`${master()}/service_plans`, { name: 'Numbers', plan })
    await session.admin.post(`${path}/services`, { add: [data.id] })
    const source = { service: 'payments', id: `credit ${id}` }
    const usage = { type: 'credit', quantity: 1, unit: 'payment' }
    await session.admin.put(`${path}/ledgers/credit`, { source, usage, amount: 100 })
    const user = { first_name: 'A', last_name: 'B', username: 'buyer', password: 'wants-numbers' }
    await session.admin.put(`${path}/users`, { ...user, priv_level: 'admin' })
    const profile = `p${id}`
    const who = ['--profile', profile, '--account', name, '--username', 'buyer', '--password-stdin']
    expect((await person.hereWith('wants-numbers', 'login', server.url, ...who)).status).toBe(0)
    return { path, profile: ['--profile', profile] }
  }

  const stock = async (prefix: string, count: number) => {
    const numbers = Array.from(
      { length: count },
      (_, index) => `+1${prefix}555${String(index).padStart(4, '0')}`,
    )
    const collection = `${master()}/phone_numbers/collection`
    await session.admin.put(collection, { numbers, create_with_state: 'available' })
    return numbers
  }

  it('shows what numbers cost, and buys them only when that is agreed to', async () => {
    const { path, profile } = await customer()
    const [first = '', second = '', third = ''] = await stock('415', 3)
    const found = await json('numbers', 'search', '415', '--quantity', '2', ...profile)
    expect(found.map(({ number }: { number: string }) => number)).toEqual([first, second])
    const owned = async () =>
      Object.keys((await session.admin.get(`${path}/phone_numbers`)).data.numbers ?? {})

    const refused = await crosspoint('numbers', 'buy', first, second, ...profile)
    expect(refused).toMatchObject({ status: 5, output: '' })
    expect(refused.errors).toMatch(/^CHARGE +QUANTITY +TODAY +PER MONTH$/m)
    expect(refused.errors).toMatch(/^Number, one-time +2 +6\.00$/m)
    expect(refused.errors).toMatch(/^Number +2 +3\.00$/m)
    expect(refused.errors).toMatch(/^total +6\.00 +3\.00$/m)
    expect(refused.errors).toContain('402 accept charges')
    expect(await owned()).toEqual([])

    const bought = await crosspoint('numbers', 'buy', first, second, '--yes', ...profile)
    expect(bought).toMatchObject({ status: 0, output: `${first}\n${second}\n` })
    expect((await owned()).sort()).toEqual([first, second])
    expect(await json('numbers', 'list', ...profile)).toHaveLength(2)

    if (!hasTerminal) return
    const asked = await person.atTerminal(['numbers', 'buy', third, ...profile], [['Accept', 'n']])
    expect(asked.status).toBe(5)
    expect(await owned()).toHaveLength(2)
    const agreed = await person.atTerminal(['numbers', 'buy', third, ...profile], [['Accept', 'y']])
    expect(agreed.status).toBe(0)
    expect(await owned()).toHaveLength(3)
  })

  it('buys what can be bought, and reports the others', async () => {
    const [good = ''] = await stock('416', 1)
    const { status, output, errors } = await crosspoint('numbers', 'buy', good, '+1999', '+14165559999')
    expect({ status, output }).toEqual({ status: 1, output: `${good}\n` })
    expect(errors).toBe(
      'crosspoint: +1999: number +1999 is not reconcilable\ncrosspoint: +14165559999: number +14165559999 not found\n',
    )
  })

  it('lists calls and writes them as CSV', async () => {
    const { id } = await account('Callers')
    const noon = gregorianOfUnix(Date.UTC(2026, 1, 10, 12) / 1000)
    const calls = Array.from({ length: pageSize + 10 }, (_, index) => ({
      call_id: `call ${index}`,
      timestamp: noon + index * 3600,
      caller_id_name: 'Łukasz, "Lucky"',
      duration_seconds: index,
      custom_channel_vars: { account_id: id },
    }))
    expect((await session.admin.put('/v2/cdrs', calls)).data.accepted).toBe(calls.length)
    const window = ['--account', id, '--from', '2026-02-01', '--to', '2026-02-28']
    const rows = await json('cdrs', 'list', ...window)
    expect(rows).toHaveLength(calls.length)
    const day = await json('cdrs', 'list', '--account', id, '--from', '2026-02-11', '--to', '2026-02-11')
    expect(day).toHaveLength(24)
    const table = linesOf((await crosspoint('cdrs', 'list', ...window, '--limit', '2')).output)
    expect(table).toHaveLength(3)
    expect(table[0]).toMatch(/^STARTED +DIRECTION +FROM +NAME +TO +SECONDS +ENDED +ID$/)
    expect(table[1]).toMatch(/^2026-02-12 \d\d:\d\d:\d\d .* Łukasz, "Lucky" /)
    const { status, output, errors } = await crosspoint('cdrs', 'export', ...window)
    expect({ status, errors }).toEqual({ status: 0, errors: '' })
    const [header, ...lines] = linesOf(output)
    expect(header).toMatch(/^id,call_id,/)
    expect(lines).toHaveLength(calls.length)
    expect(output).toContain('"Łukasz, ""Lucky"""')
  })

  it('ends quietly when its reader has seen enough', async () => {
    const line =
      'crosspoint api GET /openapi.json | head -c 10; crosspoint accounts list -q page_size=1 --json | head -1'
    const { output, errors } = await person.shell(line)
    expect(errors).toBe('')
    expect(output).toMatch(/^\{[^{]{9}.*\[\n$/s)
  })

  it('makes a task from a file, and watches it to its end', async () => {
    const file = join(place.dataDir, 'numbers.csv')
    writeFileSync(file, 'e164\n+16175550100\n+16175550101\n')
    const judged = await crosspoint(
      'tasks',
      'create',
      'number_management/import',
      file,
      '--dry-run',
      '--watch',
    )
    expect(judged).toMatchObject({ status: 0, output: 'success: 2 of 2 rows\n' })
    const { output } = await crosspoint('tasks', 'create', 'number_management/import', file)
    const id = output.trim()
    const early = await crosspoint('tasks', 'watch', id)
    expect(early).toMatchObject({
      status: 1,
      errors: `the task has not started: run crosspoint tasks start ${id}\n`,
    })
    expect((await crosspoint('tasks', 'start', id, '--watch')).output).toBe('success: 2 of 2 rows\n')
    expect(await json('tasks', 'show', id)).toMatchObject({ id, status: 'success', file_name: 'numbers.csv' })
    const again = await crosspoint('tasks', 'create', 'number_management/import', file, '--watch', '--json')
    expect(again.status).toBe(1)
    expect(JSON.parse(again.output)).toMatchObject({ status: 'failure', failure_count: 2 })
    const tasks = await crosspoint('tasks', 'list')
    expect(linesOf(tasks.output)[0]).toMatch(/^ID +CATEGORY +ACTION +STATUS +ROWS +DONE +FAILED +MADE +FILE$/)
    expect(await json('tasks', 'list', '--limit', '2')).toHaveLength(2)
    const missing = await crosspoint(
      'tasks',
      'create',
      'number_management/import',
      join(place.dataDir, 'none.csv'),
    )
    expect(missing).toMatchObject({ status: 1, errors: expect.stringContaining('none.csv') })
  })

  it.skipIf(!hasTerminal)(
    'shows a bar, and leaves the task going when Ctrl-C ends the watching',
    async () => {
      const file = join(place.dataDir, 'slow.csv')
      writeFileSync(file, 'e164\n+16175550200\n+16175550201\n')
      const settings = '/v2/system_configs/tasks'
      await session.admin.patch(settings, { default: { wait_after_row_ms: 60_000 } })
      const id = (await crosspoint('tasks', 'create', 'number_management/import', file)).output.trim()
      await crosspoint('tasks', 'start', id)
      const { status, output } = await person.atTerminal(['tasks', 'watch', id], [['of 2 rows', '\x03']])
      expect(status).toBe(130)
      expect(output).toMatch(/[█░]{30} +\d+ % {2}\d of 2 rows/)
      expect(output).toContain(`The task continues on the server: crosspoint tasks watch ${id}`)
      expect(await json('tasks', 'show', id)).toMatchObject({ status: 'executing' })
      await session.admin.patch(`${master()}/tasks/${id}/stop`)
      await session.admin.delete(settings)
    },
  )

  it('follows events of a type, those that were missed first', async () => {
    const { id, path } = await account('Followed')
    const [{ sequence = '' } = {}] = await eventsOf(id)
    await session.admin.put(`${path}/devices`, { name: 'Before' })
    await session.admin.put(`${path}/users`, { first_name: 'Not', last_name: 'asked for' })
    const args = [
      '--follow',
      '--account',
      id,
      '--type',
      'device.*',
      '--after',
      sequence,
      '--limit',
      '2',
      '--json',
    ]
    const following = person.start('events', ...args)
    await eventually(
      () => following.output(),
      (output) => output.includes('"Before"'),
    )
    await session.admin.put(`${path}/devices`, { name: 'While' })
    const { status, output, errors } = await following.ended
    expect({ status, errors }).toEqual({ status: 0, errors: '' })
    const heard = linesOf(output).map((line) => JSON.parse(line))
    expect(heard.map(({ type, after }) => [type, after.name])).toEqual([
      ['device.created', 'Before'],
      ['device.created', 'While'],
    ])
  })

  const eventsOf = async (id: string): Promise<{ sequence: string }[]> => {
    const { output } = await crosspoint('events', '--account', id, '--json')
    return linesOf(output).map((line) => JSON.parse(line))
  }

  it('ends cleanly with Ctrl-C', async () => {
    const { id, path } = await account('Interrupted')
    const [{ sequence = '' } = {}] = await eventsOf(id)
    const following = person.start('events', '--follow', '--account', id, '--after', sequence)
    await session.admin.put(`${path}/devices`, { name: 'Heard' })
    await eventually(
      () => following.output(),
      (output) => output.includes('Heard'),
    )
    following.process.kill('SIGINT')
    expect(await following.ended).toMatchObject({ status: 130, errors: '' })
  })

  it('sends any request', async () => {
    const { id, path } = await account('Any')
    const fields = ['-f', 'name=Desk', '-f', 'sip.username=desk', '-F', 'enabled=false']
    const { output } = await crosspoint('api', 'PUT', `/accounts/${id}/devices`, ...fields)
    const device = JSON.parse(output)
    expect(device).toMatchObject({ name: 'Desk', sip: { username: 'desk' }, enabled: false })
    const one = `${path}/devices/${device.id}`
    const renamed = await crosspoint('api', 'patch', one, '-d', '{"data": {"name": "Porch"}}')
    expect(JSON.parse(renamed.output)).toMatchObject({ name: 'Porch', enabled: false })
    const replaced = await person.hereWith('{"name": "Hall"}', 'api', 'POST', one, '-d', '@-')
    expect(JSON.parse(replaced.output).name).toBe('Hall')
    const whole = JSON.parse((await crosspoint('api', 'GET', one, '--envelope')).output)
    expect(whole).toMatchObject({ status: 'success', data: { name: 'Hall' } })
    expect(whole).not.toHaveProperty('auth_token')
    const csv = await crosspoint(
      'api',
      'GET',
      `${path}/devices`,
      '--accept',
      'text/csv',
      '-q',
      'paginate=false',
    )
    expect(csv.output).toContain('Hall')
    const all = await crosspoint('api', 'GET', `${path}/devices`, '--all', '-q', 'filter_name=Hall')
    expect(JSON.parse(all.output)).toEqual([expect.objectContaining({ id: device.id })])
    expect((await crosspoint('api', 'DELETE', one)).status).toBe(0)
    const gone = await crosspoint('api', 'GET', one)
    expect(gone).toMatchObject({ status: 1, output: '' })
    expect(gone.errors).toMatch(/^crosspoint: 404 .*\n {2}request ID [0-9a-f]{32}\n$/)
    const own = JSON.parse((await crosspoint('api', 'GET', '/accounts/{account}')).output)
    expect(own.id).toBe(session.masterId)
    expect((await crosspoint('api', 'GET', '/healthz')).status).toBe(0)
    expect((await crosspoint('api', 'PUT', one, '-d', '{')).errors).toMatch(
      /^crosspoint: --data is not valid JSON/,
    )
  })
})
