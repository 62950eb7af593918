// The settings of a Kazoo that apply here after an import.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { dataSet } from '../support/kazoo/data-set.ts'
import { type ImportStage, openImportStage, toldOf } from '../support/kazoo/import-stage.ts'
import { accounts, databaseOf } from '../support/kazoo/sample.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { describeAnyEngine } from '../support/servers/databases.ts'

const stamp = { pvt_type: 'config', pvt_created: 63_800_000_000, pvt_modified: 63_800_000_000 }

const wanted = ['accounts', 'system_config', databaseOf(accounts.M)]
const system = new Map([...dataSet()].filter(([name]) => wanted.includes(name)))

const words = {
  _id: 'notification.password_recovery',
  subject: 'Forgotten?',
  ...stamp,
  pvt_type: 'notification',
}

describeAnyEngine('settings of a Kazoo', (engine) => {
  let stage: ImportStage
  let report: Awaited<ReturnType<ImportStage['import']>>

  beforeAll(async () => {
    stage = await openImportStage(engine)
    const { kazoo } = stage
    kazoo.put('system_config', {
      _id: 'accounts',
      default: { default_timezone: 'Europe/Berlin', master_account_id: 'whatever' },
      ...stamp,
    })
    kazoo.put('system_config', words)
    kazoo.put('system_config', {
      _id: 'crossbar',
      default: { pagination_page_size: 'many', maximum_range: 100_000 },
      ...stamp,
    })
    kazoo.put('system_config', { _id: 'smtp_client', default: { relay: 'mail.example' }, ...stamp })
    report = await stage.import()
  })
  afterAll(() => stage.close())

  it('hold here as far as something follows them, and what is secret waits for a person', async () => {
    const admin = await stage.admin()
    expect(toldOf(report, 'set_again')).toEqual({
      severity: 'needs_hand',
      code: 'set_again',
      count: 1,
      first: [{ severity: 'needs_hand', code: 'set_again', database: 'system_config', id: 'smtp_client' }],
    })
    const found = await admin.get('/v2/system_configs/crossbar.accounts')
    expect(found.data.default).toMatchObject({ default_timezone: 'Europe/Berlin' })
  })

  it('are reported if they cannot apply', async () => {
    const told = {
      severity: 'repaired',
      code: 'set_aside',
      database: 'system_config',
      id: 'crossbar',
      field: 'default.pagination_page_size',
    }
    expect(toldOf(report, 'set_aside')).toMatchObject({ first: expect.arrayContaining([told]) })
    const admin = await stage.admin()
    const { data } = await admin.get('/v2/system_configs/crossbar')
    expect(data.default).toMatchObject({ maximum_range: 100_000 })
    expect(data.default.pagination_page_size).toBeTypeOf('number')
  })

  it('leave notices of the system alone unless that is asked for', async () => {
    const notice = '/v2/notifications/password_recovery'
    expect(report.left_out.notification).toBe(1)
    const admin = await stage.admin()
    const usual = (await admin.get(notice)).data.subject
    expect(usual).not.toBe('Forgotten?')

    // A survey writes nothing.
    const survey = await stage.import('--survey', '--system-notices')
    expect(survey.will_import.notification).toBe(report.imported.notification + 1)
    expect((await admin.get(notice)).data.subject).toBe(usual)
  })

  inFullRun(() => {
    it('bring notices of the system where that is asked for', async () => {
      const other = await openImportStage(engine, system)
      try {
        other.kazoo.put('system_config', words)
        await other.import('--system-notices')
        // The first options apply.
        other.kazoo.put('system_config', { ...words, from: 'support@kazoo.example' })
        await other.import()
        const admin = await other.admin()
        expect((await admin.get('/v2/notifications/password_recovery')).data).toMatchObject({
          subject: 'Forgotten?',
          from: 'support@kazoo.example',
        })
      } finally {
        await other.close()
      }
    })
  })
})
