import { beforeAll, describe, expect, it } from 'vitest'
import { createNumberTasks } from '../support/world/number-tasks.ts'
import { rowsOf, runTask } from '../support/world/task-runs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const unauthorized = 'requestor is unauthorized to perform operation'
const unknownAccount = 'invalid account to assign to'
const merging = { category: 'number_management', action: 'update_merge' }

describeAnyEngine('tasks that change numbers', (engine) => {
  const world = useWorld(engine)
  const { create, numberOf, run } = createNumberTasks(world)

  beforeAll(async () => {
    for (const { path } of [world.reseller, world.acme])
      await world.operator.patch(path, { wnm_allow_additions: true })
  })

  describe('that move numbers', () => {
    it('assign numbers that exist to the account of the row, and keep their fields', async () => {
      const number = await create(world.reseller, { prepend: { enabled: true, name: 'Kept' } })
      const free = await create(world.acme, { create_with_state: 'available' })
      const csv = `e164,account_id\n${number},${world.acme.id}\n${free},\n+14159990123,\n`
      const { task, output } = await run('assign_to', csv, world.ross, world.reseller)
      expect(task).toMatchObject({ status: 'partial', success_count: 2, failure_count: 1 })
      expect(rowsOf(output)).toMatchObject([
        {
          e164: number,
          account_id: world.acme.id,
          previously_assigned_to: world.reseller.id,
          state: 'in_service',
          'prepend.name': 'Kept',
        },
        { e164: free, account_id: world.reseller.id, state: 'in_service' },
        { e164: '+14159990123', error: 'not_found' },
      ])
    })

    it('do not touch numbers out of reach, nor give any to accounts out of reach', async () => {
      const [rivals, own] = [await create(world.rival), await create(world.acme)]
      const csv = `e164,account_id\n${rivals},\n${own},${world.rival.id}\n`
      for (const action of ['assign_to', 'reserve']) {
        const { output } = await run(action, csv, world.ada, world.acme)
        expect(rowsOf(output).map(({ error }) => error)).toEqual([unauthorized, unknownAccount])
      }
      expect(await numberOf(world.rival, rivals)).toMatchObject({ state: 'in_service' })
      expect(await numberOf(world.acme, own)).toMatchObject({ state: 'in_service' })
    })

    it('reserve numbers that exist', async () => {
      const number = await create(world.acme)
      const csv = `e164,account_id\n${number},${world.acme.id}\n${number},${world.acme.id}\n+14159990124,\n`
      const { output } = await run('reserve', csv, world.ross, world.reseller)
      expect(rowsOf(output).map(({ state, error }) => [state, error])).toEqual([
        ['reserved', ''],
        ['', 'no change required'],
        ['', 'not_found'],
      ])
    })

    it('release numbers of the tree, back to who reserved them or to the pool', async () => {
      const [local, pooled, rivals] = [
        await create(world.acme),
        await create(world.acme, { carrier_name: 'inventory' }),
        await create(world.rival),
      ]
      const csv = `e164\n${local}\n${pooled}\n${local}\n${rivals}\n`
      const { task, output } = await run('release', csv, world.ada, world.acme)
      expect(task).toMatchObject({ success_count: 2, failure_count: 2 })
      expect(rowsOf(output).map(({ state, account_id, error }) => [state, account_id, error])).toEqual([
        ['available', undefined, ''],
        ['available', undefined, ''],
        ['', undefined, 'not_found'],
        ['', undefined, 'not_found'],
      ])
      expect(await numberOf(world.rival, rivals)).toMatchObject({ state: 'in_service' })
    })

    it('27: remove numbers for good for the operator alone', async () => {
      const numbers = [await create(world.acme), await create(world.acme, { create_with_state: 'available' })]
      const csv = `e164\n${numbers.join('\n')}\n`
      const refusal = await run('delete', csv, world.ross, world.reseller)
      expect(refusal.task).toMatchObject({ status: 'failure', failure_count: 2 })
      expect(rowsOf(refusal.output).map(({ error }) => error)).toEqual([unauthorized, unauthorized])
      const { task, output } = await run('delete', csv)
      expect(task).toMatchObject({ status: 'success', success_count: 2 })
      expect(rowsOf(output).map(({ state }) => state)).toEqual(['deleted', 'deleted'])
      const found = await run('find', csv)
      expect(rowsOf(found.output).map(({ error }) => error)).toEqual(['not_found', 'not_found'])
    })
  })

  describe('that update', () => {
    const prepared = () =>
      create(world.acme, { prepend: { enabled: true, name: 'Old', number: '1' }, note: { a: 1, b: 2 } })

    it('merge what the row says, and leave what it does not', async () => {
      const number = await prepared()
      const csv = `e164,prepend.name,prepend.number,opaque.note.b,ringback.early\n${number},New,,two,early-media\n`
      const { task, output } = await run('update_merge', csv, world.ada, world.acme)
      expect(task.status).toBe('success')
      expect(rowsOf(output)).toMatchObject([
        { 'prepend.name': 'New', 'prepend.number': '1', 'ringback.early': 'early-media' },
      ])
      expect(await numberOf(world.acme, number)).toMatchObject({
        prepend: { enabled: true, name: 'New', number: '1' },
        note: { a: 1, b: 'two' },
        ringback: { early: 'early-media' },
      })
    })

    it('take names from their own output as they are, and from JSON records to the letter', async () => {
      const number = await prepared()
      const csv = `e164,prepend.name\n${number},'-Sales\n`
      const { output } = await run('update_merge', csv, world.ada, world.acme)
      expect(rowsOf(output)).toMatchObject([{ 'prepend.name': "'-Sales" }])
      expect(await numberOf(world.acme, number)).toMatchObject({ prepend: { name: '-Sales' } })
      const records = [{ e164: number, 'prepend.name': "'-Sales" }]
      await runTask({ ...merging, by: world.ada, path: world.acme.path, records })
      expect(await numberOf(world.acme, number)).toMatchObject({ prepend: { name: "'-Sales" } })
    })

    it('replace all public fields, empty cells clearing them', async () => {
      const number = await prepared()
      const csv = `e164,prepend.name,prepend.enabled,opaque.crm\n${number},,,C-1\n`
      expect((await run('update_overwrite', csv, world.ross, world.reseller)).task.status).toBe('success')
      expect(await numberOf(world.acme, number)).toEqual({
        id: number,
        state: 'in_service',
        features: ['local'],
        crm: 'C-1',
      })
    })

    it('are validated as a whole, and refuse fields that the number may not have', async () => {
      const number = await prepared()
      const before = await numberOf(world.acme, number)
      const csv = [
        'e164,e911.region,carrier_name,cnam.outbound',
        `${number},CA,,`,
        `${number},,blabla,`,
        `${number},,,Acme`,
        `${await create(world.rival)},,,`,
        '+14159990125,,,',
      ].join('\n')
      const { output } = await run('update_merge', csv, world.ada, world.acme)
      expect(rowsOf(output).map(({ error }) => error)).toEqual([
        'bad field(s) e911.locality e911.postal_code e911.street_address',
        unauthorized,
        unauthorized,
        'not_found',
        'not_found',
      ])
      expect(rowsOf((await run('update_merge', csv)).output)[1]).toMatchObject({ error: 'invalid' })
      expect(await numberOf(world.acme, number)).toEqual(before)
    })

    it('set the carrier for the operator', async () => {
      const number = await create(world.acme)
      const { output } = await run('update_merge', `e164,carrier_name\n${number},inventory\n`)
      expect(rowsOf(output)).toMatchObject([{ carrier_module: 'knm_inventory' }])
    })

    it('complete an emergency address cell by cell', async () => {
      const number = await create(world.acme, { carrier_name: 'inventory' })
      const whole = [
        'e164,e911.street_address,e911.locality,e911.region,e911.postal_code,e911.name',
        `${number},116 Natoma Street,San Francisco,CA,94105,Acme Bakery`,
      ].join('\n')
      expect((await run('update_merge', whole, world.ada, world.acme)).task.status).toBe('success')
      const { output } = await run(
        'update_merge',
        `e164,e911.extended_address\n${number},Suite 2\n`,
        world.ada,
        world.acme,
      )
      expect(rowsOf(output)).toMatchObject([
        {
          'e911.street_address': '116 Natoma Street',
          'e911.locality': 'San Francisco',
          'e911.region': 'CA',
          'e911.postal_code': '94105',
          'e911.name': 'Acme Bakery',
          'e911.extended_address': 'Suite 2',
        },
      ])
      expect((await numberOf(world.acme, number)).features).toContain('e911')
    })

    it('see in a dry run what an earlier row would have left', async () => {
      const number = await prepared()
      const before = await numberOf(world.acme, number)
      const csv = `e164,prepend.name,prepend.number\n${number},New,\n${number},,7\n`
      const { output } = await run('update_merge', csv, world.ada, world.acme, { dry_run: 'true' })
      expect(rowsOf(output)[1]).toMatchObject({ 'prepend.name': 'New', 'prepend.number': '7' })
      expect(await numberOf(world.acme, number)).toEqual(before)
    })
  })
})
