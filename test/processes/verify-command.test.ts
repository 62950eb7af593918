// Damage of every kind, done by hand, and named.
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { openPostgres } from '../../src/storage/postgres.ts'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { runHere } from '../support/run/command-here.ts'
import { type CommandLine, openCommandLine } from '../support/run/command-line.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { describeAnyEngine, makePlace, type Place } from '../support/servers/databases.ts'
import { onDatabase } from '../support/servers/postgres.ts'
import { type ServerProcess, startServerProcess } from '../support/servers/server-process.ts'
import { openSession, type Session } from '../support/world/session.ts'

const noSuperuser = 'the user of CROSSPOINT_TEST_DATABASE_URL is no superuser'

describeAnyEngine('crosspoint verify', (engine) => {
  let place: Place
  let server: ServerProcess
  let session: Session
  let commands: CommandLine
  let childId: string

  const environmentOf = ({ dataDir, databaseUrl }: Place): Record<string, string> => ({
    CROSSPOINT_DATA_DIR: dataDir,
    ...(databaseUrl && { CROSSPOINT_DATABASE_URL: databaseUrl }),
  })

  beforeAll(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
    commands = openCommandLine(environmentOf(place))
    server = await startServerProcess(environmentOf(place), place.dataDir)
    session = await openSession(server)
    const { admin, masterId } = session
    const child = await admin.put(`/v2/accounts/${masterId}`, { name: 'Acme', realm: 'acme.example.com' })
    expect(child).toSucceed()
    childId = child.data.id
    expect(await admin.put(`/v2/accounts/${childId}/devices`, { name: 'Reception' })).toSucceed()
    const credit = {
      amount: 12.5,
      source: { service: 'payments', id: 'p1' },
      usage: { type: 'cash', quantity: 1, unit: 'USD' },
    }
    expect(await admin.put(`/v2/accounts/${childId}/ledgers/credit`, credit)).toSucceed()
  })

  afterAll(async () => {
    session.close()
    await server.end()
    commands.remove()
    await place.remove()
  })

  /** The PostgreSQL of a run is its own, with a superuser, unless another one was named. */
  const lacksSuperuser = async ({ databaseUrl = '' }: Place) => {
    const db = openPostgres(databaseUrl)
    const [row] = await db
      .all<{ can: string }>("SELECT current_setting('is_superuser') AS can")
      .finally(() => db.close())
    return row?.can !== 'on'
  }

  const change = async (sql: string) => {
    const db = place.databaseUrl
      ? openPostgres(place.databaseUrl)
      : openSqlite(join(place.dataDir, 'crosspoint.db'))
    try {
      await db.write({ statements: [{ sql, params: [] }], stale: [] })
    } finally {
      await db.close()
    }
  }

  const verified = async (where = place) => {
    const { status, output, errors } = await runHere(environmentOf(where), ['verify', '--json'])
    return { status, errors, ...JSON.parse(output) }
  }

  it('finds nothing wrong with a store in use, and says what it looked at', async () => {
    const { status, errors, sound, checks, faults, left_out } = await verified()
    expect({ status, errors, sound, faults }).toEqual({ status: 0, errors: '', sound: true, faults: [] })
    const names = ['indices', 'key', 'records', 'audit', 'ledgers', 'counts', 'names']
    const looked = engine === 'sqlite' ? names : names.slice(1)
    expect(checks).toEqual(
      looked.map((name) => ({
        name,
        looked_at: expect.toSatisfy((count: number) => count > 0),
        sound: true,
      })),
    )
    expect(left_out).toEqual(engine === 'sqlite' ? [] : ['indices: the database has no extension amcheck'])
    const { output } = await commands.run('verify')
    expect(output).toContain('ledgers: 1 checked, sound\n')
  })

  const account = () => `account_id = '${childId}'`

  const damages: [title: string, check: string, says: RegExp, harm: () => string, heal: () => string][] = [
    [
      'a document that cannot be read',
      'records',
      /^records \w+ device \w+: its doc cannot be read \(it is not JSON\)$/,
      () => `UPDATE records SET doc = '!' || doc WHERE kind = 'device' AND ${account()}`,
      () => `UPDATE records SET doc = substr(doc, 2) WHERE kind = 'device' AND ${account()}`,
    ],
    [
      'a secret that the key does not open',
      'records',
      /a secret in it cannot be opened with keys\/server\.key/,
      () =>
        `UPDATE records SET doc = replace(doc, '{"$sealed":"', '{"$sealed":"A') WHERE doc LIKE '%$sealed%'`,
      () =>
        `UPDATE records SET doc = replace(doc, '{"$sealed":"A', '{"$sealed":"') WHERE doc LIKE '%$sealed%'`,
    ],
    [
      'an entry of the audit that was altered',
      'audit',
      /^account \w+: entry \S+ was altered/,
      () => `UPDATE audit_log SET at = at + 1 WHERE kind = 'device' AND ${account()}`,
      () => `UPDATE audit_log SET at = at - 1 WHERE kind = 'device' AND ${account()}`,
    ],
    [
      'a balance that is not the sum of its entries',
      'ledgers',
      /^ledger of account \w+: the balance is 125001 units, the sum of its entries is 125000$/,
      () => `UPDATE ledger_balances SET units = units + 1 WHERE ${account()}`,
      () => `UPDATE ledger_balances SET units = units - 1 WHERE ${account()}`,
    ],
    [
      'postings that do not add up',
      'ledgers',
      /^ledger of account \w+, entry \S+: its postings do not add up/,
      () => `UPDATE ledger_postings SET amount = amount + 1 WHERE book = 'account' AND ${account()}`,
      () => `UPDATE ledger_postings SET amount = amount - 1 WHERE book = 'account' AND ${account()}`,
    ],
    [
      'the sum of a month',
      'ledgers',
      /month \d+, payments: the sum is 125001 units, the sum of its entries is 125000/,
      () => `UPDATE ledger_months SET amount = amount + 1 WHERE ${account()}`,
      () => `UPDATE ledger_months SET amount = amount - 1 WHERE ${account()}`,
    ],
    [
      'a count of sub-accounts',
      'counts',
      /^account \w+: it counts 3 sub-accounts, but has 0$/,
      () => `UPDATE records SET tally = 3 WHERE kind = 'account' AND ${account()}`,
      () => `UPDATE records SET tally = 0 WHERE kind = 'account' AND ${account()}`,
    ],
    [
      'a count that services are priced by',
      'counts',
      /^account \w+: its count of devices \w+ is wrong by 2$/,
      () =>
        `INSERT INTO quantity_moves (account_id, id, at, category, item, own, below) SELECT account_id, 'x', 0, 'devices', 'sip_device', 2, 0 FROM records WHERE kind = 'account' AND ${account()}`,
      () =>
        `INSERT INTO quantity_moves (account_id, id, at, category, item, own, below) SELECT account_id, 'y', 0, 'devices', 'sip_device', -2, 0 FROM records WHERE kind = 'account' AND ${account()}`,
    ],
    [
      'a name whose holder is gone',
      'names',
      /^account \w+: a realm is held by the account nobody, which does not exist$/,
      () =>
        `UPDATE claims SET record_id = 'nobody' WHERE name = 'realm' AND holder_account_id = '${childId}'`,
      () =>
        `UPDATE claims SET record_id = '${childId}' WHERE name = 'realm' AND holder_account_id = '${childId}'`,
    ],
    [
      'a key of another store',
      'key',
      /^keys\/server\.key: it does not match this data store: restore the key that belongs to it$/,
      () =>
        `UPDATE records SET doc = replace(doc, '"fingerprint":"', '"fingerprint":"0') WHERE kind = 'server_key'`,
      () =>
        `UPDATE records SET doc = replace(doc, '"fingerprint":"0', '"fingerprint":"') WHERE kind = 'server_key'`,
    ],
  ]

  type Faults = Record<'check' | 'place' | 'reason', string>[]

  /** Shows that each of these damages is named, and that checks which they do not touch are sound. */
  const expectNamed = async (some: typeof damages) => {
    for (const [, , , harm] of some) await change(harm())
    const { status, sound, ...found } = await verified()
    const faults: Faults = found.faults
    for (const [, , , , heal] of some.toReversed()) await change(heal())
    expect({ status, sound }).toEqual({ status: 1, sound: false })
    const told = faults.map(({ place: where, reason }) => `${where}: ${reason}`)
    for (const [, , says] of some) expect(told).toContainEqual(expect.stringMatching(says))
    // Parser errors quote the text, which may be a secret.
    expect(JSON.stringify(faults)).not.toMatch(/is not valid JSON/)
    // What cannot be read cannot be counted either.
    const checks = some.flatMap(([, check]) => (check === 'records' ? ['records', 'counts'] : [check]))
    expect(checks).toEqual(expect.arrayContaining(faults.map(({ check }) => check)))
    expect(await verified()).toMatchObject({ status: 0, faults: [] })
  }

  it('names damage of every kind, and is sound again when all of it is put right', async () => {
    // What cannot be read cannot be counted.
    await expectNamed(damages.filter(([, check]) => check !== 'counts'))
    await expectNamed(damages.filter(([, check]) => check === 'counts'))
  })

  inFullRun(() => it.each(damages)('names %s', (...one) => expectNamed([one])))

  it('refuses a store of another version', async () => {
    await change("INSERT INTO storage_upgrades (number, title, applied_at) VALUES (999, 'of a test', 0)")
    const { status, errors } = await runHere(environmentOf(place), ['verify'])
    await change('DELETE FROM storage_upgrades WHERE number = 999')
    expect(status).toBe(1)
    expect(errors).toMatch(/the store is at upgrade 999, this version needs \d+/)
  })

  /** An empty store that only one test uses. */
  const ownPlace = async () => {
    const own = await makePlace(engine, { isUpgraded: true })
    onTestFinished(() => own.remove())
    return own
  }

  it.runIf(engine === 'postgres')(
    'looks into tables and indices where the database has amcheck',
    async ({ skip }) => {
      const own = await ownPlace()
      skip(await lacksSuperuser(own), noSuperuser)
      await onDatabase(own.databaseUrl ?? '', 'CREATE EXTENSION amcheck')
      const { status, checks, left_out } = await verified(own)
      expect({ status, left_out }).toEqual({ status: 0, left_out: [expect.stringContaining('server.key')] })
      expect(checks[0]).toEqual({ name: 'indices', looked_at: expect.any(Number), sound: true })
      expect(checks[0].looked_at).toBeGreaterThan(100)
    },
  )

  it.runIf(engine === 'postgres')('names an index that lacks a row of its table', async ({ skip }) => {
    const own = await ownPlace()
    skip(await lacksSuperuser(own), noSuperuser)
    const url = own.databaseUrl ?? ''
    await onDatabase(url, 'CREATE EXTENSION amcheck')
    await onDatabase(url, 'CREATE TABLE broken (a INTEGER NOT NULL, b INTEGER NOT NULL)')
    await onDatabase(url, 'INSERT INTO broken VALUES (1, 1), (2, 2)')
    await onDatabase(url, 'CREATE INDEX broken_part ON broken (a) WHERE b = 1')
    // The index stays as it is, and is of all rows from now on.
    await onDatabase(url, "UPDATE pg_index SET indpred = NULL WHERE indexrelid = 'broken_part'::regclass")
    const { status, faults } = await verified(own)
    expect(status).toBe(1)
    expect(faults).toEqual([
      {
        check: 'indices',
        place: 'index broken_part',
        reason: expect.stringContaining('lacks matching index tuple'),
      },
    ])
  })

  it.runIf(engine === 'sqlite')('names what is broken in the file itself', async () => {
    const own = await ownPlace()
    const file = openSync(join(own.dataDir, 'crosspoint.db'), 'r+')
    for (const page of [20, 21, 22]) writeSync(file, Buffer.alloc(8192, 0x5a), 0, 8192, page * 8192)
    closeSync(file)
    const { status, sound, faults } = await verified(own)
    expect({ status, sound }).toEqual({ status: 1, sound: false })
    expect(faults.length).toBeGreaterThan(0)
  })
})
