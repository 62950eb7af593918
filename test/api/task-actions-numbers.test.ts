import { beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { createNumberTasks } from '../support/world/number-tasks.ts'
import { rowsOf } from '../support/world/task-runs.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

const columns = [
  'e164,account_name,account_id,previously_assigned_to,state,created,modified,used_by,ported_in,carrier_module,',
  'cnam.inbound,cnam.outbound,e911.locality,e911.name,e911.region,e911.street_address,e911.extended_address,',
  'e911.postal_code,prepend.enabled,prepend.name,prepend.number,ringback.early,ringback.transfer,force_outbound,',
  'failover.e164,failover.sip',
].join('')

const unauthorized = 'requestor is unauthorized to perform operation'
const unknownAccount = 'invalid account to assign to'

describeEngines('tasks of the category number_management', (engine) => {
  const world = useWorld(engine)
  const { fresh, pathOf, create, numberOf, run } = createNumberTasks(world)

  beforeAll(async () => {
    await world.operator.patch(world.reseller.path, { wnm_allow_additions: true })
  })

  const refused = (action: string, csv: string | undefined) =>
    world.unchanged(() =>
      world.ada.put(`${world.acme.path}/tasks`, undefined, {
        query: { category: 'number_management', action },
        ...(csv === undefined ? {} : { body: csv, headers: { 'content-type': 'text/csv' } }),
      }),
    )

  it('2: are all in the help, with the columns that they take', async () => {
    const { data } = await world.anonymous.get('/v2/tasks?category=number_management')
    const actions = data.tasks.number_management
    expect(Object.keys(actions).toSorted()).toEqual(
      [
        ...['assign_to', 'delete', 'find', 'import', 'list', 'list_all', 'release', 'reserve', 'sync'],
        ...['update_merge', 'update_overwrite', 'dump', 'dump_aging', 'dump_available', 'dump_deleted'],
        ...['dump_discovery', 'dump_in_service', 'dump_port_in', 'dump_port_out', 'dump_released'],
        'dump_reserved',
      ].toSorted(),
    )
    expect(actions.import).toMatchObject({
      expected_content: 'text/csv',
      mandatory: ['e164'],
      optional: columns.split(',').filter((name) => name !== 'e164'),
    })
    expect(actions.update_merge.optional).toEqual([
      'carrier_name',
      ...columns.split(',').slice(columns.split(',').indexOf('cnam.inbound')),
    ])
    expect(actions.list.expected_content).toBeUndefined()
  })

  it('11-14: are refused with an input that does not fit', async () => {
    const problems = (answer: { data: Json }) => answer.data.attachment
    expect(problems(await refused('find', 'account_id\nx\n'))).toMatchObject({
      type: { missing_mandatory_fields: ['e164'] },
    })
    const id = 'a'.repeat(32)
    expect(problems(await refused('assign_to', `account_id,e164\n,+14157215234\n${id},\n`))).toMatchObject({
      type: { missing_mandatory_values: [`${id},`] },
    })
    expect(problems(await refused('list', 'e164\n+14157215234\n'))).toMatchObject({
      type: { expected_content: 'none' },
    })
    expect(problems(await refused('find', undefined))).toMatchObject({
      type: { missing_mandatory_fields: ['e164'], expected_content: 'text/csv' },
    })
  })

  describe('that list', () => {
    it('15: write the header alone for an account without numbers', async () => {
      const account = await world.account()
      const { task, output } = await run('list', undefined, world.operator, account)
      expect(task.status).toBe('success')
      expect(output).toEqual([columns])
    })

    it("show the numbers of the task's account with what is known of them", async () => {
      const account = await world.account(world.master, { name: 'Listed Ltd' })
      const number = await create(account, { prepend: { enabled: true, name: 'Sales', number: '9' } })
      const { task, output } = await run('list', undefined, world.operator, account)
      expect(task).toMatchObject({ status: 'success', success_count: 1 })
      const [row] = rowsOf(output)
      expect(row).toEqual({
        e164: number,
        account_name: 'Listed Ltd',
        account_id: account.id,
        state: 'in_service',
        created: expect.stringMatching(/^\d{11}$/),
        modified: expect.stringMatching(/^\d{11}$/),
        ported_in: 'false',
        carrier_module: 'knm_local',
        'prepend.enabled': 'true',
        'prepend.name': 'Sales',
        'prepend.number': '9',
      })
    })

    it('show those of all accounts below as well, each once, however many parts it takes', async () => {
      const top = await world.account()
      const [first, second] = await world.chain(2, top)
      const side = await world.account(top)
      const csv = Array.from({ length: 1203 }, (_, index) => {
        const owner = [top, first, second as TestAccount, side][index % 4] as TestAccount
        return `+1206${String(5_000_000 + index)},${owner.id}`
      })
      await run('import', ['e164,account_id', ...csv].join('\n'))
      const { output } = await run('list_all', undefined, world.operator, top)
      const rows = rowsOf(output)
      expect(rows).toHaveLength(1203)
      expect(new Set(rows.map(({ e164 }) => e164)).size).toBe(1203)
      expect(rows.map(({ e164, account_id }) => `${e164},${account_id}`).toSorted()).toEqual(csv.toSorted())
      expect(rows.slice(0, 301).every(({ account_id }) => account_id === top.id)).toBe(true)
      expect(rowsOf((await run('list', undefined, world.operator, first)).output)).toHaveLength(301)
    })

    it('25: show the whole system to the operator, by state when asked, and to others nothing', async () => {
      const own = await create(world.acme)
      const free = await create(world.acme, { create_with_state: 'available' })
      const all = rowsOf((await run('dump', undefined)).output).map(({ e164 }) => e164)
      expect(all).toEqual(expect.arrayContaining([own, free]))
      const available = rowsOf((await run('dump_available', undefined)).output)
      expect(available.map(({ state }) => state)).toEqual(available.map(() => 'available'))
      expect(available.map(({ e164 }) => e164)).toContain(free)
      for (const action of ['dump', 'dump_available']) {
        const { task, output } = await run(action, undefined, world.ross, world.reseller)
        expect(task.status).toBe('success')
        expect(output).toEqual([columns])
      }
    })

    it('repair what is kept before they list, with sync', async () => {
      const account = await world.account()
      const number = await create(account)
      const { task, output } = await run('sync', undefined, world.operator, account)
      expect(task.status).toBe('success')
      expect(rowsOf(output)).toMatchObject([{ e164: number }])
    })
  })

  describe('find', () => {
    it('22: shows own numbers; the column error reports foreign and invalid numbers', async () => {
      const number = await create(world.acme)
      const csv = `e164\n${number}\n4155550100\n+14159990199\n`
      const { task, output } = await run('find', csv, world.ada, world.acme)
      expect(task).toMatchObject({ status: 'partial', success_count: 1, failure_count: 2 })
      const rows = rowsOf(output)
      expect(rows.map(({ e164, error }) => [e164, error])).toEqual([
        [number, ''],
        ['4155550100', 'bad field(s) e164'],
        ['+14159990199', 'not_found'],
      ])
      expect(rows[0]).toMatchObject({ account_name: 'Acme', account_id: world.acme.id, state: 'in_service' })
    })

    it('sees available numbers and those reserved above, but not those of a rival', async () => {
      const rivals = await create(world.rival)
      const free = await create(world.acme, { create_with_state: 'available' })
      const above = await create(world.reseller, { create_with_state: 'reserved' })
      const { output } = await run(
        'find',
        `e164\n${rivals}\n${free}\n${above}\n+1234\n`,
        world.ada,
        world.acme,
      )
      expect(rowsOf(output).map(({ state, error }) => [state, error])).toEqual([
        ['', 'not_found'],
        ['available', ''],
        ['reserved', ''],
        ['', 'not_reconcilable'],
      ])
      expect(output.join()).not.toContain(world.rival.id)
    })
  })

  describe('import', () => {
    it('creates numbers for the account of the row, else for that of the task', async () => {
      const [one, two] = [fresh(), fresh()]
      const csv = `e164,account_id,state,carrier_module\n${one},,,\n${two},${world.acme.id},reserved,knm_inventory\n`
      const { task, output } = await run('import', csv, world.ross, world.reseller)
      expect(task).toMatchObject({ status: 'success', success_count: 2 })
      expect(rowsOf(output)).toMatchObject([
        { e164: one, account_name: 'Reseller', state: 'in_service', carrier_module: 'knm_local' },
        { e164: two, account_name: 'Acme', state: 'in_service', carrier_module: 'knm_local' },
      ])
      expect(await numberOf(world.acme, two)).toMatchObject({ id: two, state: 'in_service' })
    })

    it('follows state, carrier and ported_in of the operator', async () => {
      const [free, inventory, ported] = [fresh(), fresh(), fresh()]
      await world.configure('number_manager', { port_in_module_name: 'knm_bandwidth' })
      const csv = [
        'e164,state,carrier_module,ported_in,account_id',
        `${free},available,,,${world.acme.id}`,
        `${inventory},reserved,knm_inventory,false,${world.acme.id}`,
        `${ported},reserved,knm_inventory,true,${world.acme.id}`,
      ]
      const { output } = await run('import', csv.join('\n'))
      await world.configure('number_manager', { port_in_module_name: 'knm_local' })
      expect(rowsOf(output)).toMatchObject([
        { e164: free, account_id: '', state: 'available', carrier_module: 'knm_local', ported_in: 'false' },
        { e164: inventory, account_id: world.acme.id, state: 'reserved', carrier_module: 'knm_inventory' },
        { e164: ported, state: 'in_service', carrier_module: 'knm_bandwidth', ported_in: 'true' },
      ])
    })

    it('takes the carrier that the operator has set for imports', async () => {
      await world.configure('number_manager', { import_defaults_to_carrier: 'knm_inventory' })
      const { output } = await run('import', `e164\n${fresh()}\n`, world.ross, world.reseller)
      await world.configure('number_manager', { import_defaults_to_carrier: 'knm_local' })
      expect(rowsOf(output)).toMatchObject([{ carrier_module: 'knm_inventory' }])
    })

    it('keeps features and own fields, and ignores what only the server knows', async () => {
      const number = fresh()
      const csv = [
        'e164,created,used_by,account_name,previously_assigned_to,prepend.enabled,prepend.name,force_outbound,opaque.crm.id,opaque.id',
        `${number},1,callflow,Nobody,${world.rival.id},true,Sales,false,C-17,other`,
      ]
      expect((await run('import', csv.join('\n'), world.operator, world.acme)).task.status).toBe('success')
      expect(await numberOf(world.acme, number)).toEqual({
        id: number,
        state: 'in_service',
        features: ['force_outbound', 'local', 'prepend'],
        prepend: { enabled: true, name: 'Sales' },
        force_outbound: false,
        crm: { id: 'C-17' },
      })
    })

    it('reports the errors of each row, and imports the others', async () => {
      const [good, taken] = [fresh(), await create(world.rival)]
      const csv = [
        'e164,account_id,state,cnam.outbound,prepend.enabled,e911.region',
        `${good},,,,,`,
        `${taken},,,,,`,
        `${good},,,,,`,
        '415,,,,,',
        '+1415,,,,,',
        `${fresh()},${'0'.repeat(32)},,,,`,
        `${fresh()},nobody,broken,,yes,`,
        `${fresh()},${world.rival.id},,,,`,
        `${fresh()},,,A name that is too long,,`,
        `${fresh()},,,,,California`,
      ]
      const before = await numberOf(world.rival, taken)
      const { task, output } = await run('import', csv.join('\n'), world.ross, world.reseller)
      expect(task).toMatchObject({ status: 'partial', success_count: 2, failure_count: 8 })
      expect(rowsOf(output).map(({ error }) => error)).toEqual([
        '',
        `number ${taken} already exists`,
        `number ${good} already exists`,
        'bad field(s) e164',
        'not_reconcilable',
        unknownAccount,
        'bad field(s) account_id state prepend.enabled',
        '',
        'bad field(s) cnam.outbound',
        'bad field(s) e911.locality e911.postal_code e911.street_address e911.region',
      ])
      expect(await numberOf(world.rival, taken)).toEqual(before)
    })

    it('is refused row by row where the account may create no numbers, and for accounts out of reach', async () => {
      const csv = `e164,account_id\n${fresh()},\n${fresh()},${world.rival.id}\n`
      const run1 = await run('import', csv, world.ada, world.acme)
      expect(run1.task).toMatchObject({ status: 'failure', failure_count: 2 })
      expect(rowsOf(run1.output).map(({ error }) => error)).toEqual([unauthorized, unknownAccount])
    })

    it('validates every row of a dry run as in a real run, and changes nothing', async () => {
      const number = fresh()
      const csv = `e164\n${number}\n+1415\n${number}\n`
      const query = { dry_run: 'true' }
      const { task, output } = await run('import', csv, world.operator, world.acme, query)
      expect(task).toMatchObject({ status: 'partial', success_count: 1, failure_count: 2 })
      expect(rowsOf(output).map(({ state, error }) => [state, error])).toEqual([
        ['in_service', ''],
        ['', 'not_reconcilable'],
        ['', `number ${number} already exists`],
      ])
      expect(await world.operator.get(pathOf(world.acme, number))).toFailWith(404, 'bad_identifier')
    })

    it('writes an audit entry and an event of each number, with the creator of the task as author', async () => {
      const number = fresh()
      await run('import', `e164\n${number}\n`, world.ross, world.reseller)
      const sql =
        "SELECT action, event, author FROM audit_log WHERE kind = 'number' AND record_id = $1 ORDER BY id"
      const entries = await world.server.store.all(sql, [number])
      expect(entries.map(({ action, event }) => [action, event])).toEqual([['created', 'number.bought']])
      expect(JSON.parse(String(entries[0]?.author))).toMatchObject({
        authAccountId: world.reseller.id,
        authUserId: world.ross.id,
        acceptsCharges: true,
      })
    })
  })
})
