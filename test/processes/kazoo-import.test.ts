// Imports a small Kazoo, which a CouchDB of the tests serves, while a server runs.
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { accountKind } from '../../src/auth/identity.ts'
import { createChance, seed } from '../fuzz/chance.ts'
import { dataSet, secretsOfSamples } from '../support/kazoo/data-set.ts'
import { openHouse } from '../support/kazoo/house.ts'
import { importedContentOf } from '../support/kazoo/imported-content.ts'
import { accounts, databaseOf, digestsOf, passwords, stamped } from '../support/kazoo/sample.ts'
import { type Kazoo, startKazoo } from '../support/kazoo/stand-in.ts'
import { differenceOf } from '../support/matchers/snapshot.ts'
import { eventually } from '../support/run/eventually.ts'
import { countOf } from '../support/run/run-length.ts'
import { describeAnyEngine } from '../support/servers/databases.ts'
import type { ServerProcess } from '../support/servers/server-process.ts'
import { Client, createTransport } from '../support/world/client.ts'
import { credentialsOf } from '../support/world/world.ts'

const kills = countOf(1, 10)
const unchanged = { gone: [], new: [] }
const pathOf = (accountId: string) => `/v2/accounts/${accountId}`

describeAnyEngine('crosspoint import kazoo', (engine) => {
  let kazoo: Kazoo

  beforeAll(async () => {
    kazoo = await startKazoo(dataSet())
  })
  afterAll(() => kazoo.close())

  const newHouse = async () => {
    const house = await openHouse(engine)
    onTestFinished(() => house.close())
    return house
  }

  const callerOf = ({ port }: ServerProcess, localAddress = '127.0.0.1') => {
    const transport = createTransport(port, { localAddress })
    onTestFinished(() => transport.close())
    const anyone = new Client(transport.send)
    const signIn = ({ username, password }: { username: string; password: string }, realm: string) =>
      anyone.put('/v2/user_auth', { credentials: credentialsOf(username, password), realm })
    const asAdmin = async () => {
      const { body } = await signIn({ username: 'admin', password: 'secret' }, 'master.sip.example')
      return anyone.with({ 'x-auth-token': String(body.auth_token) })
    }
    return { signIn, asAdmin }
  }

  it('imports everything while a server runs, follows changes, and opens the store when it is finished', async () => {
    const other = await startKazoo(dataSet())
    onTestFinished(() => other.close())
    const house = await newHouse()
    const server = await house.startServer()
    const { signIn, asAdmin } = callerOf(server)

    const first = await house.importing(other.url, '--json')
    expect(first.status).toBe(2)
    expect(first.errors).not.toContain('crosspoint:')
    expect(JSON.parse(first.output)).toMatchObject({ accounts: 9, imported: { user: 8, device: 4, cdr: 8 } })
    const imported = await house.snapshot()
    expect((await house.importing(other.url)).status).toBe(2)
    expect(differenceOf(imported, await house.snapshot())).toEqual(unchanged)

    // Users read with the passwords that they have, and no user writes.
    const answer = await signIn(passwords.user_md5_only, 'cee.sip.example')
    expect(answer.status).toBe(201)
    expect(answer.data.account_id).toBe(accounts.C)
    const admin = await asAdmin()
    expect((await admin.get(`${pathOf(accounts.C)}/users`)).data).toHaveLength(5)
    expect((await admin.get(`${pathOf(accounts.C)}/ledgers/total`)).data).toEqual({ amount: 24 })
    const before = await house.snapshot()
    const refused = await admin.put(`${pathOf(accounts.C)}/devices`, { name: 'A new phone' })
    expect({ status: refused.status, message: refused.body.message }).toEqual({
      status: 503,
      message: 'import_under_way',
    })
    expect(differenceOf(before, await house.snapshot())).toEqual(unchanged)

    const following = house.person.start('import', 'kazoo', other.url, '--follow')
    const id = '5'.repeat(32)
    other.put(databaseOf(accounts.C), {
      _id: id,
      ...stamped('user', accounts.C, 63_910_000_000),
      username: 'later',
      first_name: 'Came',
      last_name: 'Later',
      enabled: true,
      ...digestsOf('later', 'a password of later'),
    })
    const found = await eventually(
      async () => {
        // Another process has written it.
        await house.store.fence()
        return house.store.records.find(accounts.C, 'user', id)
      },
      (record) => record !== undefined,
    )
    expect(found?.created).toBe(63_910_000_000)
    following.process.kill('SIGINT')
    expect((await following.ended).status).toBe(2)
    const later = { username: 'later', password: 'a password of later' }
    // Two sign-ins have taken most tokens of the first address.
    const elsewhere = callerOf(server, '127.0.0.2')
    expect((await elsewhere.signIn(later, 'cee.sip.example')).status).toBe(201)

    expect((await house.importing(other.url, '--finish')).status).toBe(2)
    const query = { accept_charges: true }
    const phone = await admin.put(`${pathOf(accounts.C)}/devices`, { name: 'A new phone' }, { query })
    expect(phone.status).toBe(201)
    // The server resumes its scheduled jobs after the import, and they write.
    expect(await server.end()).toBe(0)
    const finished = await house.snapshot()
    for (const args of [[other.url], [other.url, '--finish'], ['--undo']]) {
      const { status, errors } = await house.importing(...args)
      expect(status).toBe(1)
      expect(errors).toContain('is finished')
    }
    expect(differenceOf(finished, await house.snapshot())).toEqual(unchanged)
    const master = await house.store.records.find(accounts.M, accountKind, accounts.M)
    expect(master?.doc.name).toBe('Master')

    const audit = await house.store.all('SELECT * FROM audit_log')
    const findings = await house.store.all('SELECT * FROM kazoo_findings')
    const said = [server.errors(), server.output(), JSON.stringify([audit, findings])].join('\n')
    for (const secret of secretsOfSamples()) expect(said).not.toContain(secret)
  })

  it('writes nothing in a survey, or if some of the source is elsewhere, and is undone as if nothing had been', async () => {
    const house = await newHouse()
    const before = await house.snapshot()
    const expectNothingWritten = async () =>
      expect(differenceOf(before, await house.snapshot())).toEqual(unchanged)

    const survey = await house.importing(kazoo.url, '--survey', '--json')
    expect(survey.status).toBe(2)
    expect(survey.errors).not.toContain('crosspoint:')
    await expectNothingWritten()
    const report = JSON.parse(survey.output)
    expect(report).toMatchObject({
      accounts: 9,
      databases: { account: 10, month: 5 },
      will_import: { user: 8 },
    })
    expect(report.conflicts).toContainEqual(
      expect.objectContaining({ severity: 'needs_hand', code: 'realm_taken', count: 1 }),
    )

    const scattered = await startKazoo(dataSet({ withForeignStorage: true }))
    onTestFinished(() => scattered.close())
    for (const args of [[], ['--follow']]) {
      const { status, errors } = await house.importing(scattered.url, ...args)
      expect(status).toBe(1)
      expect(errors).toContain('some data is stored elsewhere')
    }
    await expectNothingWritten()

    expect((await house.importing(kazoo.url)).status).toBe(2)
    const { status, errors } = await house.importing('--undo')
    expect({ status, errors }).toEqual({
      status: 0,
      errors: 'the store is back in its state before the import\n',
    })
    await expectNothingWritten()
    expect((await house.importing('--undo')).status).toBe(1)
  })

  it('ends in the same store wherever it is killed', async () => {
    const { below } = createChance(seed)
    const whole = await newHouse()
    const begun = kazoo.requests.length
    expect((await whole.importing(kazoo.url)).status).toBe(2)
    const requests = kazoo.requests.length - begun
    const house = await newHouse()
    for (let kill = 1; kill <= kills; kill += 1) {
      const first = kazoo.requests.length
      const wanted = 1 + below(requests)
      const running = house.person.start('import', 'kazoo', kazoo.url)
      // A later run does not read again what was imported before, so it may end earlier.
      const asked = eventually(
        () => kazoo.requests.length - first >= wanted || running.process.exitCode !== null,
        Boolean,
      )
      await asked
      await pause(below(30))
      running.process.kill('SIGKILL')
      await running.ended
    }
    expect((await house.importing(kazoo.url)).status).toBe(2)
    expect(await importedContentOf(house.store)).toEqual(await importedContentOf(whole.store))
  })
})
