// Changes in a Kazoo while an import follows it: money of months that continue, and times at which it cannot be
// read.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { dataSet } from '../support/kazoo/data-set.ts'
import { type ImportStage, openImportStage, toldOf } from '../support/kazoo/import-stage.ts'
import { accounts, databaseOf, gregorian, idOf, stamped } from '../support/kazoo/sample.ts'
import { eventually } from '../support/run/eventually.ts'
import { describeAnyEngine } from '../support/servers/databases.ts'

const { M, G } = accounts
const wanted = ['accounts', 'system_config', databaseOf(M), databaseOf(G)]
const small = new Map([...dataSet()].filter(([name]) => wanted.includes(name)))

const at = (month: string) => gregorian(Number(month.slice(0, 4)), Number(month.slice(4)), 1, 12)

const entry = (month: string, name: string, units: number) => ({
  _id: `${month}-${idOf(name)}`,
  ...stamped('ledger', G, at(month), databaseOf(G, month)),
  amount: Math.abs(units),
  source: { service: 'adjustment', id: name },
  usage: { type: 'cash', quantity: 1, unit: 'USD' },
  pvt_ledger_type: units < 0 ? 'debit' : 'credit',
})

const rollover = (month: string, units: number) => ({
  ...entry(month, 'rollover', units),
  _id: `${month}-ledgers_monthly_rollover`,
  source: { service: 'rollovers', id: `${month}-ledgers_monthly_rollover` },
})

describeAnyEngine('an import that follows a Kazoo', (engine) => {
  let stage: ImportStage

  beforeAll(async () => {
    stage = await openImportStage(engine, small)
  })
  afterAll(() => stage.close())

  const put = (month: string, ...documents: readonly { _id: string }[]) => {
    for (const document of documents) stage.kazoo.put(databaseOf(G, month), document)
  }

  const balance = async () => {
    const admin = await stage.admin()
    return (await admin.get(`/v2/accounts/${G}/ledgers/total`)).data
  }

  it('knows closing balances of months, continues when the source cannot be read, and counts exactly when it is finished', async () => {
    // The closing balance of a month contains all entries before the next month.
    put('202501', rollover('202501', 500_000), entry('202501', 'first', -20_000))
    expect(toldOf(await stage.import(), 'rollover_differs')).toBeUndefined()

    put('202501', entry('202501', 'second', -30_000))
    await stage.import()
    put('202501', entry('202501', 'first', -25_000))
    put('202502', rollover('202502', 445_000))
    const report = await stage.import()
    expect(toldOf(report, 'rollover_differs')).toBeUndefined()
    expect(report.imported.ledger).toBe(4)
    expect(await balance()).toEqual({ amount: 44.5 })

    // A month is reported again when the one before it has changed, and not when that is corrected.
    put('202501', entry('202501', 'third', -5000))
    expect(toldOf(await stage.import(), 'rollover_differs')).toMatchObject({
      count: 1,
      first: [{ id: '202502-ledgers_monthly_rollover', old: '44', new: '44.5' }],
    })
    put('202502', rollover('202502', 440_000))
    await stage.import()
    expect(await balance()).toEqual({ amount: 44 })

    // No month begins at nothing because the one before it was not read to its end.
    put('202503', entry('202503', 'in march', 10_000))
    await stage.import()
    expect(await balance()).toEqual({ amount: 45 })

    const { kazoo, commands } = stage
    const command = commands.start('import', 'kazoo', kazoo.url, '--follow', '--json')
    const says = (text: RegExp) => eventually(command.errors, (errors) => text.test(errors))
    await says(/ changes taken over/)

    // A missing permission is reported at once.
    kazoo.faults.faultFor = ({ path: [database] }) => (database === '_all_dbs' ? 403 : undefined)
    await says(/; it is tried again; /)
    kazoo.faults.faultFor = undefined
    put('202503', entry('202503', 'behind it', 20_000))
    await says(/tried again[\s\S]*\n[1-9]\d* changes taken over/)
    const followed = await balance()
    command.process.kill('SIGINT')
    const { status, output } = await command.ended
    expect({ status, followed, months: JSON.parse(output).databases.month }).toEqual({
      status: 2,
      followed: { amount: 47 },
      months: 3,
    })

    const finished = await stage.import('--finish')
    expect(finished.imported.ledger).toBe(7)
    const admin = await stage.admin()
    const device = await admin.put(`/v2/accounts/${G}/devices`, { name: 'Here' })
    expect(device.status).toBe(201)
  })
})
