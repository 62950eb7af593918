// An import of some accounts only, and what it leaves out because of its first options.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type ImportStage, openImportStage, toldOf } from '../support/kazoo/import-stage.ts'
import { accounts } from '../support/kazoo/sample.ts'
import { describeAnyEngine } from '../support/servers/databases.ts'

const { C, M, R } = accounts

describeAnyEngine('an import of some accounts', (engine) => {
  let stage: ImportStage

  beforeEach(async () => {
    stage = await openImportStage(engine)
  })
  afterEach(() => stage.close())

  it('surveys only these, and refuses unknown accounts', async () => {
    const survey = await stage.import('--survey', '--accounts', R)
    expect(survey.accounts).toBe(3)
    expect(survey.will_import).toMatchObject({ account: 3, number: 4 })

    const unknown = await stage.refused('--accounts', 'f'.repeat(32))
    expect(unknown).toMatchObject({
      status: 1,
      errors: `crosspoint: the source has no account ${'f'.repeat(32)}\n`,
    })
    const unreadable = await stage.refused('--accounts', 'Acme')
    expect(unreadable.status).not.toBe(0)
    expect(unreadable.errors).toContain('Use account IDs, separated by commas.')
    // Nothing was begun.
    const nothing = await stage.refused('--finish')
    expect(nothing.errors).toContain('there is no import to finish')
  })

  it('imports those below and above them with their numbers, continues with its first options, and is finished', async () => {
    const report = await stage.import('--accounts', R, '--since-month', '202502')
    expect(report.accounts).toBe(3)
    expect(report.imported).toMatchObject({ account: 3, number: 4 })
    // Records of other accounts are not reported one by one.
    expect(toldOf(report, 'number_owner_gone')).toBeUndefined()
    expect(toldOf(report, 'device_orphaned')).toBeUndefined()

    // The server refuses other options than the first ones.
    const other = async (...args: string[]) => {
      const { status, errors } = await stage.refused(...args)
      expect(status).toBe(1)
      return errors
    }
    const begun = `the import was begun with --since-month 202502 --accounts ${R}, and cannot continue with`
    expect(await other('--accounts', C)).toContain(
      `${begun} --accounts ${C}: continue without it, or use --undo and start again`,
    )
    expect(await other('--since-month', '202501')).toContain(`${begun} --since-month 202501`)
    expect(await other('--without-cdrs')).toContain(`${begun} --without-cdrs`)
    expect(await other('--follow', '--system-notices')).toContain(`${begun} --system-notices`)
    expect(await other('--finish', '--allow-missing')).toContain(`${begun} --allow-missing`)
    const same = await stage.import('--accounts', R)
    expect(same.accounts).toBe(3)

    const finished = await stage.import('--finish')
    expect(finished.accounts).toBe(3)
    const admin = await stage.admin()
    const { data: below } = await admin.get(`/v2/accounts/${M}/descendants`)
    expect(below.map(({ id }: { id: string }) => id).sort()).toEqual([C, R].sort())
    const compared = await stage.run('compare', 'kazoo', stage.kazoo.url, '--sample', 'all')
    const differences = compared.output.split('\n').filter((line) => line.includes(': expected '))
    // Only what the report of the import explains.
    expect(differences.filter((line) => !/, key by key, .+ \([a-z_]+\)$/.test(line))).toEqual([])
    const records = new Set(differences.map((line) => line.split(': ')[0]))
    expect(compared.output).toMatch(
      new RegExp(`3 of 3 accounts, [\\d,]+ answers, ${records.size} different\\.`),
    )
  })
})
