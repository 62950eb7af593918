// Expected records from the documents of a Kazoo, compared with a store that was filled from them and then
// changed.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { documentNamed, secretsOfSamples } from '../support/kazoo/data-set.ts'
import { type ImportStage, openImportStage } from '../support/kazoo/import-stage.ts'
import { accounts, databaseOf } from '../support/kazoo/sample.ts'
import { describeEngines } from '../support/servers/databases.ts'

const { C, R } = accounts

describeEngines('crosspoint compare kazoo with a database', (engine) => {
  let stage: ImportStage

  beforeAll(async () => {
    stage = await openImportStage(engine)
    await stage.import()
    await stage.import('--finish')
  })
  afterAll(() => stage.close())

  const words = () => ['compare', 'kazoo', stage.kazoo.url, '--sample', 'all']
  const compare = (...args: string[]) => stage.run(...words(), ...args)

  it('reports what the import rejected and what changed on either side, and why, with counts to sign and without a secret', async () => {
    const same = await stage.run(...words())
    expect(same.errors).toBe('')
    expect(same.output).toMatch(/9 of 9 accounts, [\d,]+ answers, 8 different\./)
    const lines = same.output
      .split('\n')
      .filter((line) => line.includes(' key by key, ') && line.includes(': expected '))
    expect(lines.map((line) => [/: (\S+): expected/.exec(line)?.[1], /\((\w+)\)$/.exec(line)?.[1]])).toEqual([
      ['plan.ui_apps', 'plan_item_moved'],
      ['realm', 'realm_taken'],
      ['username', 'username_taken'],
      ['username', 'set_aside'],
      ['email', 'set_aside'],
      ['call_forward.0', 'set_aside'],
      ['timezone', 'set_aside'],
      ['access_lists.cidrs.1', 'cidr_invalid'],
      ['owner_id', 'owner_gone'],
      ['enabled', 'sip_username_taken'],
      ['sip.username', 'sip_username_taken'],
    ])
    expect(same.output).toMatch(/^user +8 +8 the same$/m)
    expect(same.output).toMatch(/^call records +8 +8 the same$/m)
    expect(same.output).toMatch(/^Accepted by: /m)
    expect(same.status).toBe(2)

    const admin = await stage.admin()
    const olga = documentNamed('user_md5_only').id
    await admin.patch(`/v2/accounts/${C}/users/${olga}`, { first_name: 'Another' })
    const { data: made } = await admin.put(`/v2/accounts/${C}/devices`, { name: 'Made here' })
    const phone = documentNamed('device_sip_name').id
    await stage.change(
      `UPDATE records SET sort_key = 'zzz' WHERE account_id = '${C}' AND kind = 'device' AND id = '${phone}'`,
      `UPDATE ledger_entries SET amount = amount - 7 WHERE account_id = '${C}' AND month = 202502
        AND source_service = 'per-minute-voip'`,
      `UPDATE cdrs_202502 SET billing_seconds = billing_seconds + 5
        WHERE account_id = '${C}' AND id = '202502-pair-a@10.1.2.3'`,
      `UPDATE numbers SET state = 'port_out' WHERE number = '+14155550125'`,
      `DELETE FROM records WHERE kind = 'user' AND account_id = '${R}' AND id = '${documentNamed('user_capital').id}'`,
    )
    const { status, output } = await compare('--json')
    expect(status).toBe(2)
    const { differences, sums } = JSON.parse(output)
    const told = (question: string) =>
      differences
        .filter((one: { question: string }) => one.question === question)
        .map(({ question: _, ...one }: { question: string }) => one)
    expect(told('user')).toEqual(
      expect.arrayContaining([
        {
          account_id: C,
          id: olga,
          what: 'first_name',
          there: 'Olga',
          here: 'Another',
          why: 'changed here since',
        },
        expect.objectContaining({ account_id: R, id: documentNamed('user_capital').id, what: 'missing' }),
      ]),
    )
    expect(told('device, in order')).toEqual([
      { account_id: C, id: made.id, what: 'extra', why: 'made here' },
      { account_id: C, id: expect.any(String), what: 'order' },
    ])
    expect(told('number')).toEqual([
      { account_id: C, id: '+14155550125', what: 'state', there: 'in_service', here: 'port_out' },
    ])
    expect(told('calls of a month')).toEqual([
      { account_id: C, id: '202502', what: 'billing', there: expect.any(Number), here: expect.any(Number) },
    ])
    expect(told('ledger of a month')).toEqual([
      expect.objectContaining({ account_id: C, id: '202502', what: 'units moved' }),
    ])
    const sumOf = (name: string) => sums.find((one: { name: string }) => one.name === name)
    expect(sumOf('billed seconds').here - sumOf('billed seconds').there).toBe(5)
    expect(sumOf('user').here - sumOf('user').there).toBe(-1)
    for (const secret of secretsOfSamples()) expect(output).not.toContain(secret)

    stage.kazoo.put(databaseOf(C), {
      ...documentNamed('user_md5_only').fields,
      _id: 'd'.repeat(32),
      username: 'later',
    })
    const since = await compare('--json')
    expect(JSON.parse(since.output).differences).toContainEqual({
      account_id: C,
      question: 'user',
      id: 'd'.repeat(32),
      what: 'missing',
      why: 'it came after the import',
    })
  })

  it('refuses what is neither a database nor dumps', async () => {
    const { status, errors } = await stage.run('compare', 'kazoo', '/nowhere/at/all')
    expect(status).toBe(1)
    expect(errors).toContain('crosspoint: ')
  })
})
