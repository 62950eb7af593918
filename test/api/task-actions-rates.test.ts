import { describe, expect, it } from 'vitest'
import type { Client } from '../support/world/client.ts'
import { rowsOf, runTask } from '../support/world/task-runs.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

describeAnyEngine('tasks of the category rates', (engine) => {
  const world = useWorld(engine)
  let decks = 0
  const newDeck = () => {
    decks += 1
    return `bulk-${decks}`
  }

  const run = (
    action: string,
    csv?: string,
    by: Client = world.operator,
    { path }: TestAccount = world.master,
  ) => runTask({ by, path, category: 'rates', action, ...(csv === undefined ? {} : { csv }) })

  const ratesOf = async (ratedeck_id: string) => {
    const { data } = await world.operator.get('/v2/rates', { query: { ratedeck_id, ascending: true } })
    return Promise.all(
      data.map(async ({ id }: { id: string }) => (await world.operator.get(`/v2/rates/${id}`)).data),
    )
  }

  describe('import', () => {
    it('26: creates rates, and with the next import changes those that are there and revives one that was deleted', async () => {
      const deck = newDeck()
      const header = 'prefix,rate_cost,iso_country_code,ratedeck_id\n'
      const first = await run('import', `${header}1214,0.05,US,${deck}\n44,0.2,GB,${deck}\n`)
      expect(first.task).toMatchObject({ status: 'success', success_count: 2, failure_count: 0 })
      expect(first.output).toEqual(['prefix,rate_cost,iso_country_code,ratedeck_id,error'])
      const [dallas, london] = await ratesOf(deck)
      expect(dallas).toEqual({
        id: dallas.id,
        prefix: 1214,
        rate_cost: 0.05,
        iso_country_code: 'US',
        ratedeck_id: deck,
        rate_name: 'US_1214',
        weight: 35,
        routes: ['^\\+?1214.+$'],
        rate_increment: 60,
        rate_minimum: 60,
        rate_surcharge: 0,
        rate_nocharge_time: 0,
      })
      await world.operator.patch(`/v2/rates/${london.id}`, { description: 'London and more' })
      await world.operator.delete(`/v2/rates/${dallas.id}`)
      const again = await run(
        'import',
        `${header}1214,0.06,US,${deck}\n44,0.00435,GB,${deck}\n1,0.01,US,${deck}\n`,
      )
      expect(again.task).toMatchObject({ status: 'success', success_count: 3 })
      const rates = await ratesOf(deck)
      expect(rates.map(({ id, prefix, rate_cost, weight }) => ({ id, prefix, rate_cost, weight }))).toEqual([
        { id: rates[0].id, prefix: 1, rate_cost: 0.01, weight: 9 },
        { id: dallas.id, prefix: 1214, rate_cost: 0.06, weight: 34 },
        { id: london.id, prefix: 44, rate_cost: 0.00435, weight: 20 },
      ])
      expect(rates[2].description).toBe('London and more')
    })

    it('reports the errors of each row, and imports the others', async () => {
      const deck = newDeck()
      const { task, output } = await run(
        'import',
        [
          'prefix,rate_cost,direction,weight,ratedeck_id',
          `12a,0.1,inbound,,${deck}`,
          `1,cheap,sideways,200,${deck}`,
          `1,0.123456789,,,${deck}`,
          `1,0.12345678,outbound,,${deck}`,
        ].join('\n'),
      )
      expect(task).toMatchObject({ status: 'partial', success_count: 1, failure_count: 3, total_count: 4 })
      expect(output).toEqual([
        'prefix,rate_cost,direction,ratedeck_id,weight,error'.replace(
          'ratedeck_id,weight',
          'weight,ratedeck_id',
        ),
        `12a,0.1,inbound,,${deck},bad field(s) prefix`,
        `1,cheap,sideways,200,${deck},bad field(s) rate_cost direction weight`,
        `1,0.123456789,,,${deck},bad field(s) rate_cost`,
      ])
      expect(await ratesOf(deck)).toMatchObject([
        { rate_cost: 0.12345678, direction: ['outbound'], rate_name: 'outbound_XX_1' },
      ])
    })

    it('takes two rows for one rate as one after the other, also in a dry run, which changes nothing', async () => {
      const deck = newDeck()
      const csv = `prefix,rate_cost,ratedeck_id\n1,0.1,${deck}\n1,0.2,${deck}\n`
      const dry = await runTask({
        by: world.operator,
        path: world.master.path,
        category: 'rates',
        action: 'import',
        csv,
        query: { dry_run: 'true' },
      })
      expect(dry.task).toMatchObject({ status: 'success', success_count: 2 })
      expect(dry.output).toEqual([
        'prefix,rate_cost,ratedeck_id,change,previous_rate_cost',
        `1,0.1,${deck},added,`,
        `1,0.2,${deck},changed,0.1`,
      ])
      expect(await ratesOf(deck)).toEqual([])
      await run('import', csv)
      expect(await ratesOf(deck)).toMatchObject([{ rate_cost: 0.2 }])
    })

    it('reports in a dry run which rates it would add, change and leave, with their old prices', async () => {
      const deck = newDeck()
      const header = 'prefix,rate_cost,ratedeck_id\n'
      await run('import', `${header}1,0.1,${deck}\n44,0.2,${deck}\n`)
      const before = await ratesOf(deck)
      const dry = await runTask({
        by: world.operator,
        path: world.master.path,
        category: 'rates',
        action: 'import',
        csv: `${header}1,0.1,${deck}\n44,0.25,${deck}\n49,0.3,${deck}\nno,0.3,${deck}\n`,
        query: { dry_run: 'true' },
      })
      expect(dry.task).toMatchObject({ status: 'partial', success_count: 3, failure_count: 1 })
      expect(dry.output).toEqual([
        'prefix,rate_cost,ratedeck_id,change,previous_rate_cost,error',
        `1,0.1,${deck},unchanged,0.1,`,
        `44,0.25,${deck},changed,0.2,`,
        `49,0.3,${deck},added,,`,
        `no,0.3,${deck},,,bad field(s) prefix`,
      ])
      expect(await ratesOf(deck)).toEqual(before)
    })

    it('writes an audit entry and an event for each rate, with the creator of the task as author', async () => {
      const deck = newDeck()
      await run('import', `prefix,rate_cost,ratedeck_id\n77,0.1,${deck}\n`)
      const [rate] = await ratesOf(deck)
      const entries = await world.server.store.all(
        "SELECT action, author FROM audit_log WHERE kind = 'rate' AND record_id = $1",
        [rate.id],
      )
      expect(entries.map(({ action }) => action)).toEqual(['created'])
      expect(JSON.parse(String(entries[0]?.author))).toMatchObject({ authAccountId: world.master.id })
    })
  })

  describe('delete', () => {
    const importInto = (deck: string) =>
      run(
        'import',
        [
          'prefix,rate_cost,carrier,direction,ratedeck_id',
          `1,0.1,ace,inbound,${deck}`,
          `1,0.2,ace,outbound,${deck}`,
          `1,0.2,best,,${deck}`,
          `12,0.2,best,,${deck}`,
        ].join('\n'),
      )

    it('removes the rates of a prefix that have all values of the row', async () => {
      const deck = newDeck()
      await importInto(deck)
      const header = 'prefix,rate_cost,carrier,ratedeck_id\n'
      const { task } = await run('delete', `${header}1,0.2,ace,${deck}\n1,,best,other\n`)
      expect(task).toMatchObject({ status: 'success', success_count: 2 })
      // Rates of one prefix stand in the order of their ids, which differs from deck to deck.
      const left = (await ratesOf(deck)).toSorted((one, other) => one.rate_cost - other.rate_cost)
      expect(left).toMatchObject([
        { prefix: 1, rate_cost: 0.1, carrier: 'ace' },
        { prefix: 1, rate_cost: 0.2, carrier: 'best' },
        { prefix: 12 },
      ])
      await run('delete', `prefix,ratedeck_id\n1,${deck}\n`)
      expect(await ratesOf(deck)).toMatchObject([{ prefix: 12 }])
    })

    it('is done with a row that fits no rate, and with one that an earlier row has done', async () => {
      const deck = newDeck()
      await importInto(deck)
      const csv = `prefix,ratedeck_id\n999,${deck}\n1,${deck}\n1,${deck}\n`
      const query = { dry_run: 'true' }
      const wish = { by: world.operator, path: world.master.path, category: 'rates', action: 'delete', csv }
      expect((await runTask({ ...wish, query })).task).toMatchObject({ success_count: 3 })
      expect(await ratesOf(deck)).toHaveLength(4)
      const { task, output } = await runTask(wish)
      expect(task).toMatchObject({ status: 'success', success_count: 3 })
      expect(output).toEqual(['prefix,ratedeck_id,error'])
      expect(await ratesOf(deck)).toHaveLength(1)
    })
  })

  describe('export', () => {
    it('writes the default deck with all fields sorted by name, as an import takes them', async () => {
      const deck = newDeck()
      await world.configure('rates', { default_ratedeck: deck })
      const csv = [
        'prefix,rate_cost,direction,routes,description',
        '1,0.00435,inbound,"[""^\\\\+?1"",""^1""]","North, America"',
        '44,1,,,',
      ].join('\n')
      await run('import', csv)
      const { task, output } = await run('export')
      expect(task).toMatchObject({ status: 'success', success_count: 2 })
      expect(output[0]).toBe(
        [
          'description,direction,prefix,rate_cost,rate_increment,rate_minimum,rate_name,rate_nocharge_time,',
          'rate_surcharge,ratedeck_id,routes,weight',
        ].join(''),
      )
      expect(output[1]).toBe(
        `"North, America",inbound,1,0.00435,60,60,inbound_XX_1,0,0,${deck},"[""^\\\\+?1"",""^1""]",10`,
      )
      const before = await ratesOf(deck)
      const again = await run('import', `${output.join('\n')}\n`)
      expect(again.task).toMatchObject({ status: 'success', success_count: 2 })
      expect(await ratesOf(deck)).toEqual(before)
      const cheaper = await run('import', 'prefix,rate_cost,ratedeck_id\n44,0.5,\n')
      expect(cheaper.task.status).toBe('success')
      expect(await ratesOf(deck)).toMatchObject([{ prefix: 1 }, { id: before[1].id, rate_cost: 0.5 }])
      await world.configure('rates', { default_ratedeck: 'ratedeck' })
    })

    it('can be imported again with identical texts, also escaped ones, and deletes exactly its own rows', async () => {
      const deck = newDeck()
      await world.configure('rates', { default_ratedeck: deck })
      for (const [index, rate_name] of ['-Germany', "'+quoted", '=SUM(A1)'].entries()) {
        const rate = { prefix: 49 + index, rate_cost: 5e-8, weight: 1, rate_name }
        expect(await world.operator.put('/v2/rates', rate)).toSucceed()
      }
      const before = await ratesOf(deck)
      const { output } = await run('export')
      expect(rowsOf(output).map(({ rate_name }) => rate_name)).toEqual([
        "'-Germany",
        "''+quoted",
        "'=SUM(A1)",
      ])
      expect(rowsOf(output)[0]).toMatchObject({ rate_cost: '0.00000005' })
      const csv = `${output.join('\n')}\n`
      expect((await run('import', csv)).task).toMatchObject({ status: 'success', success_count: 3 })
      expect(await ratesOf(deck)).toEqual(before)
      expect((await run('delete', csv)).task).toMatchObject({ status: 'success', success_count: 3 })
      expect(await ratesOf(deck)).toEqual([])
      await world.configure('rates', { default_ratedeck: 'ratedeck' })
    })

    it('knows a rate again that was made by hand', async () => {
      const ratedeck_id = newDeck()
      const made = await world.operator.put('/v2/rates', { prefix: 33, rate_cost: 1, ratedeck_id })
      await run('import', `prefix,rate_cost,ratedeck_id\n33,2,${ratedeck_id}\n`)
      expect(await ratesOf(ratedeck_id)).toMatchObject([{ id: made.data.id, rate_cost: 2, weight: 1 }])
      await world.operator.patch(`/v2/rates/${made.data.id}`, { carrier: 'ace' })
      await run('import', `prefix,rate_cost,ratedeck_id\n33,3,${ratedeck_id}\n`)
      await run('import', `prefix,rate_cost,ratedeck_id\n33,4,${ratedeck_id}\n`)
      const both = await ratesOf(ratedeck_id)
      expect(both.map(({ rate_cost }) => rate_cost).toSorted()).toEqual([2, 4])
    })

    it('does not mind an id that a changed rate bears', async () => {
      const ratedeck_id = newDeck()
      const csv = `prefix,rate_cost,ratedeck_id\n34,1,${ratedeck_id}\n`
      await run('import', csv)
      const [{ id }] = await ratesOf(ratedeck_id)
      await world.operator.patch(`/v2/rates/${id}`, { prefix: 35 })
      expect((await run('import', csv)).task.status).toBe('success')
      expect(await ratesOf(ratedeck_id)).toMatchObject([{ prefix: 34 }, { prefix: 35, id }])
    })
  })

  describe('for others than the operator', () => {
    it('are refused to a reseller on its own account, and to a customer', async () => {
      const query = { category: 'rates', action: 'export' }
      for (const [person, { path }] of [
        [world.ross, world.reseller],
        [world.ross, world.acme],
        [world.ada, world.acme],
      ] as const) {
        expect(await world.unchanged(() => person.put(`${path}/tasks`, undefined, { query }))).toFailWith(
          403,
          'forbidden',
        )
      }
    })

    it('let an account above a reseller keep the rates for its customers, and no others', async () => {
      const below = await world.account(world.reseller)
      expect(await world.operator.put(`${below.path}/reseller`, {})).toSucceed()
      const deck = newDeck()
      await run('import', `prefix,rate_cost,ratedeck_id\n1,0.5,${deck}\n`)
      const csv = `prefix,rate_cost,ratedeck_id,account_id\n1,0.9,${deck},\n44,0.9,${deck},${world.acme.id}\n`
      const { task, output } = await run('import', csv, world.ross, below)
      expect(task).toMatchObject({ status: 'partial', success_count: 1, failure_count: 1 })
      expect(rowsOf(output)).toMatchObject([{ prefix: '44', error: 'bad field(s) account_id' }])
      const ofDeck = async () =>
        (await ratesOf(deck)).map(({ rate_cost, account_id }) => ({ rate_cost, account_id }))
      expect((await ofDeck()).toSorted((a, b) => a.rate_cost - b.rate_cost)).toEqual([
        { rate_cost: 0.5, account_id: undefined },
        { rate_cost: 0.9, account_id: below.id },
      ])
      await world.configure('rates', { default_ratedeck: deck })
      const exported = await run('export', undefined, world.ross, below)
      await world.configure('rates', { default_ratedeck: 'ratedeck' })
      expect(rowsOf(exported.output)).toMatchObject([{ account_id: below.id }])
      const member = await world.admin(below)
      const imported = await run('import', csv, world.ross, below)
      for (const [path, part] of [
        [exported.path, 'output'],
        [imported.path, 'input'],
        [imported.path, 'output'],
      ])
        expect(await member.get(`${path}/${part}`)).toFailWith(403, 'forbidden')
      expect(await member.get(exported.path)).toSucceed()
      await run('delete', `prefix,ratedeck_id\n1,${deck}\n`, world.ross, below)
      expect(await ofDeck()).toEqual([{ rate_cost: 0.5, account_id: undefined }])
    })
  })
})
