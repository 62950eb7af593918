// Data that an import takes from a Kazoo outside accounts and months, and data that it only reports.
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { documentNamed } from '../support/kazoo/data-set.ts'
import { type ImportStage, openImportStage, toldOf } from '../support/kazoo/import-stage.ts'
import { accounts, databaseOf, gregorian, idOf, passwords, stamped } from '../support/kazoo/sample.ts'
import { describeAnyEngine } from '../support/servers/databases.ts'
import { credentialsOf } from '../support/world/world.ts'

const { M, R, C, F } = accounts
const numbersApp = idOf('app of numbers')
const ann = idOf('user_both_digests')
const provider = idOf('provider of all accounts')
const month = databaseOf(C, '202504')
const used = gregorian(2025, 4, 9, 10, 30)

const useOf = (name: string, seconds: number, created = used) => ({
  _id: `202504-${idOf(name)}`,
  seconds,
  classification: 'tollfree_us',
  ...stamped('allotment_consumption', C, created, month),
})

describeAnyEngine('data of a Kazoo outside its accounts', (engine) => {
  let stage: ImportStage
  let survey: Awaited<ReturnType<ImportStage['import']>>
  let report: Awaited<ReturnType<ImportStage['import']>>

  beforeAll(async () => {
    stage = await openImportStage(engine)
    const { kazoo } = stage
    kazoo.put('system_auth', {
      _id: provider,
      name: 'Codes',
      provider_name: 'otp',
      enabled: true,
      ...stamped('provider', M, used, 'system_auth'),
      pvt_provider_type: 'multi_factor',
    })
    kazoo.put('system_auth', { _id: 'key', pem: 'secret', pvt_type: 'system_key' })
    kazoo.put(databaseOf(C), {
      _id: 'configs_crossbar.auth',
      auth_modules: {
        cb_user_auth: {
          enabled: true,
          multi_factor: { enabled: true, configuration_id: provider, account_id: M },
        },
      },
      ...stamped('account_config', C, used),
    })
    kazoo.put(month, useOf('one', 40))
    kazoo.put(month, useOf('another', 25, used + 20))
    kazoo.put(databaseOf(C), {
      _id: 'limits',
      ...stamped('limits', C, used),
      pvt_allotments: { tollfree_us: { amount: 600, cycle: 'monthly' } },
    })
    kazoo.put(databaseOf(F), {
      ...documentNamed('account_without_copy').fields,
      _id: F,
      pvt_trial_expires: used,
    })
    kazoo.put(databaseOf(C), {
      _id: 'apps_store',
      ...stamped('apps_store', C, used),
      apps: {
        [numbersApp]: {
          name: 'numbers',
          allowed_users: 'specific',
          users: [{ id: ann }, { id: accounts.gone }],
        },
        [idOf('app of voip')]: { name: 'voip', allowed_users: 'admins' },
      },
      blacklist: ['callcenter'],
    })
    kazoo.put('sms', { _id: 'a message', pvt_type: 'sms' })
    kazoo.put('what is this', { _id: 'x' })
    survey = await stage.import('--survey')
    report = await stage.import()
  })
  afterAll(() => stage.close())

  it('are providers of second factors, which demands of accounts lead to', async () => {
    expect(toldOf(report, 'factor_provider_missing')).toBeUndefined()
    const admin = await stage.admin()
    const { data } = await admin.get('/v2/multi_factor')
    expect(data).toMatchObject([{ id: provider, name: 'Codes', provider_name: 'otp', enabled: true }])
    expect(report.left_out.system_key).toBe(1)
  })

  it('are days of years and what calls have used, each added up', async () => {
    const admin = await stage.admin()
    const query = { created_from: String(gregorian(2025, 3, 1)), created_to: String(gregorian(2025, 3, 28)) }
    const summary = await admin.get(`/v2/accounts/${R}/services/audit_summary`, { query })
    const users = await admin.get(`/v2/accounts/${R}/services/audit_summary/user`, { query })
    const consumed = await admin.get(`/v2/accounts/${C}/allotments/consumed`, {
      query: { created_from: String(used - 3600), created_to: String(used + 3600) },
    })
    expect(consumed.data).toMatchObject({ tollfree_us: { consumed: 65 } })
    expect(report.left_out.allotment_consumption).toBe(2)
    expect(summary.data[0][C]).toBeUndefined()
    expect(users.data).toMatchObject([{ '2025-03-07': { addition: 4, removal: 0, quantity: 4 } }])
  })

  it('are trials, whose end holds', async () => {
    const admin = await stage.admin()
    expect((await admin.get(`/v2/accounts/${F}`)).data).toMatchObject({
      trial_expires: used,
      trial_time_left: 0,
    })
    const { username, password } = passwords.user_of_eff
    const anyone = await stage.anyone()
    const credentials = credentialsOf(username, password)
    expect(
      (await anyone.put('/v2/user_auth', { credentials, account_realm: 'eff.sip.example' })).status,
    ).toBe(423)
    expect(toldOf(report, 'no_counterpart')).toBeUndefined()
  })

  it('are apps that accounts have, whether they are known by their ids or by their names', async () => {
    const admin = await stage.admin()
    await stage.import('--finish')
    const app = (name: string) => ({ name, i18n: { 'en-US': { label: name } } })
    const described = { [numbersApp]: app('numbers'), voip: app('voip'), callcenter: app('callcenter') }
    await admin.put('/v2/system_configs/apps_store', { default: { apps: described } })
    const { data } = await admin.get(`/v2/accounts/${C}/apps_store`)
    const installed = data.map(({ name, allowed_users, users }: Json) => ({ name, allowed_users, users }))
    expect(installed).toEqual([
      { name: 'numbers', allowed_users: 'specific', users: [{ id: ann }] },
      { name: 'voip', allowed_users: 'admins', users: [] },
    ])
  })

  it('are databases that are listed only by name and size, and copies of missing phones', () => {
    const odd = 'account/AB/CD/EF0123456789ABCDEF0123456789'
    expect(report.listed).toEqual(
      [odd, 'sip_auth', 'sms', 'what is this'].map((name) => ({ name, documents: 1, bytes: 1000 })),
    )
    expect(survey.listed).toEqual(report.listed)
    expect(toldOf(report, 'copy_orphaned')).toEqual({
      severity: 'left_out',
      code: 'copy_orphaned',
      count: 1,
      first: [
        {
          severity: 'left_out',
          code: 'copy_orphaned',
          database: 'sip_auth',
          id: idOf('device_orphan'),
          field: 'pvt_account_id',
          old: accounts.gone,
        },
      ],
    })
  })

  it('is surveyed as it is imported', () => {
    const { '(documents of months)': ofMonths, ...planned } = survey.will_import
    const { audit_log, cdr, credit, debit, ledger, transaction, '(none)': _days, ...done } = report.imported
    // A survey reads from documents where numbers lead, before anything is stored.
    const ofNumbers = ({ conflicts }: typeof report) =>
      conflicts
        .flatMap(({ first }: { first: { database: string }[] }) => first)
        .filter(({ database }: { database: string }) => database.startsWith('numbers/'))
    expect(ofNumbers(survey)).toHaveLength(ofNumbers(report).length)
    expect(ofNumbers(survey)).toEqual(expect.arrayContaining(ofNumbers(report)))
    expect({ planned: { ...planned, '(none)': undefined }, ofMonths }).toEqual({
      planned: done,
      ofMonths: 20,
    })
  })
})
