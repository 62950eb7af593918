// A Kazoo in miniature, served by a CouchDB of the tests, is taken over beside a running server.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { accountKind } from '../../src/auth/identity.ts'
import { Client, createTransport } from '../support/client.ts'
import { describeAnyEngine } from '../support/databases.ts'
import { eventually } from '../support/eventually.ts'
import { dataSet, secretsOfSamples } from '../support/kazoo/data-set.ts'
import { type House, openHouse } from '../support/kazoo/house.ts'
import { importedContentOf } from '../support/kazoo/imported-content.ts'
import { accounts, databaseOf, digestsOf, passwords, stamped } from '../support/kazoo/sample.ts'
import { type Kazoo, startKazoo } from '../support/kazoo/stand-in.ts'
import { countOf } from '../support/run-length.ts'
import { openSession, type Session } from '../support/session.ts'
import { differenceOf } from '../support/snapshot.ts'
import { credentialsOf } from '../support/world.ts'

const kills = countOf(2, 20)

describeAnyEngine('crosspoint import kazoo', (engine) => {
  let kazoo: Kazoo
  let house: House
  let session: Session

  beforeAll(async () => {
    kazoo = await startKazoo(dataSet())
    house = await openHouse(engine)
    session = await openSession(house.server)
  }, 120_000)

  afterAll(async () => {
    session.close()
    await house.close()
    await kazoo.close()
  })

  const signIn = async ({ username, password }: { username: string; password: string }, realm: string) => {
    const transport = createTransport(house.server.port)
    try {
      const credentials = credentialsOf(username, password)
      return await new Client(transport.send).put('/v2/user_auth', { credentials, realm })
    } finally {
      transport.close()
    }
  }

  const asAdmin = async () => {
    const { body } = await signIn({ username: 'admin', password: 'secret' }, 'master.sip.example')
    return session.as(String(body.auth_token))
  }

  const pathOf = (accountId: string) => `/v2/accounts/${accountId}`

  it('tells before what would be done, and writes nothing', async () => {
    const before = await house.snapshot()
    const { status, output, errors } = await house.importing(kazoo.url, '--survey', '--json')
    expect(status).toBe(2)
    expect(errors).not.toContain('crosspoint:')
    expect(differenceOf(before, await house.snapshot())).toEqual({ gone: [], new: [] })
    const report = JSON.parse(output)
    expect(report).toMatchObject({
      accounts: 9,
      databases: { account: 10, month: 5 },
      will_import: { user: 8 },
    })
    expect(report.conflicts).toContainEqual(
      expect.objectContaining({ severity: 'needs_hand', code: 'realm_taken', count: 1 }),
    )
  }, 120_000)

  it('changes nothing where some of it lies elsewhere', async () => {
    const scattered = await startKazoo(dataSet({ withForeignStorage: true }))
    try {
      const before = await house.snapshot()
      for (const args of [[], ['--follow']]) {
        const { status, errors } = await house.importing(scattered.url, ...args)
        expect(status).toBe(1)
        expect(errors).toContain('some of it lies elsewhere')
      }
      expect(differenceOf(before, await house.snapshot())).toEqual({ gone: [], new: [] })
    } finally {
      await scattered.close()
    }
  }, 120_000)

  it('takes everything over, once', async () => {
    const first = await house.importing(kazoo.url, '--json')
    expect(first.status).toBe(2)
    expect(first.errors).not.toContain('crosspoint:')
    expect(JSON.parse(first.output)).toMatchObject({ accounts: 9, imported: { user: 8, device: 4, cdr: 8 } })
    const before = await house.snapshot()
    expect((await house.importing(kazoo.url)).status).toBe(2)
    expect(differenceOf(before, await house.snapshot())).toEqual({ gone: [], new: [] })
  }, 120_000)

  it('lets people read meanwhile with the passwords that they have, and nobody write', async () => {
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
    expect(differenceOf(before, await house.snapshot())).toEqual({ gone: [], new: [] })
  })

  it('follows what changes there until it is told to end', async () => {
    const following = house.person.start('import', 'kazoo', kazoo.url, '--follow')
    const id = '5'.repeat(32)
    const user = {
      _id: id,
      ...stamped('user', accounts.C, 63_910_000_000),
      username: 'later',
      first_name: 'Came',
      last_name: 'Later',
      enabled: true,
      ...digestsOf('later', 'a password of later'),
    }
    kazoo.put(databaseOf(accounts.C), user)
    const found = await eventually(
      async () => {
        // Another process has written it.
        await house.store.fence()
        return house.store.records.find(accounts.C, 'user', id)
      },
      (record) => record !== undefined,
      60_000,
    )
    expect(found?.created).toBe(63_910_000_000)
    following.process.kill('SIGINT')
    expect((await following.ended).status).toBe(2)
    expect(
      (await signIn({ username: 'later', password: 'a password of later' }, 'cee.sip.example')).status,
    ).toBe(201)
  }, 120_000)

  it('ends in the same store wherever it is killed', async () => {
    const other = await openHouse(engine)
    try {
      for (let kill = 1; kill <= kills; kill += 1) {
        const running = other.person.start('import', 'kazoo', kazoo.url)
        const pause = new Promise((resolve) => setTimeout(resolve, 400 + (kill * 1600) / kills))
        await Promise.race([pause, running.ended])
        running.process.kill('SIGKILL')
        await running.ended
      }
      expect((await other.importing(kazoo.url)).status).toBe(2)
      expect(await importedContentOf(other.store)).toEqual(await importedContentOf(house.store))
    } finally {
      await other.close()
    }
  }, 300_000)

  it('is undone as if nothing had been', async () => {
    const other = await openHouse(engine)
    try {
      const before = await other.snapshot()
      expect((await other.importing(kazoo.url)).status).toBe(2)
      const { status, errors } = await other.importing('--undo')
      expect({ status, errors }).toEqual({
        status: 0,
        errors: 'the store is what it was before the import\n',
      })
      expect(differenceOf(before, await other.snapshot())).toEqual({ gone: [], new: [] })
      expect((await other.importing('--undo')).status).toBe(1)
    } finally {
      await other.close()
    }
  }, 180_000)

  it('opens the store when it is finished, and is not begun again', async () => {
    expect((await house.importing(kazoo.url, '--finish')).status).toBe(2)
    const admin = await asAdmin()
    expect(
      (
        await admin.put(
          `${pathOf(accounts.C)}/devices`,
          { name: 'A new phone' },
          { query: { accept_charges: true } },
        )
      ).status,
    ).toBe(201)
    const before = await house.snapshot()
    for (const args of [[kazoo.url], [kazoo.url, '--finish'], ['--undo']]) {
      const { status, errors } = await house.importing(...args)
      expect(status).toBe(1)
      expect(errors).toContain('is finished')
    }
    expect(differenceOf(before, await house.snapshot())).toEqual({ gone: [], new: [] })
  }, 120_000)

  it('shows no secret of the source anywhere', async () => {
    const printed = [house.server.errors(), house.server.output()]
    const audit = await house.store.all('SELECT * FROM audit_log')
    const findings = await house.store.all('SELECT * FROM kazoo_findings')
    const said = [...printed, JSON.stringify(audit), JSON.stringify(findings)].join('\n')
    for (const secret of secretsOfSamples()) expect(said).not.toContain(secret)
  })

  it('goes into a store that holds nothing but a first start', async () => {
    const admin = await house.store.records.find(accounts.M, accountKind, accounts.M)
    expect(admin?.doc.name).toBe('Master')
  })
})
