import { expect, it } from 'vitest'
import { nowOf } from '../support/world/legs.ts'
import { finishTask, runTask } from '../support/world/task-runs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const anId = expect.stringMatching(/^[0-9a-f]{32}$/)
const finding = { category: 'number_management', action: 'find' }
const numbers = { body: 'e164\n+14155550100', headers: { 'content-type': 'text/csv' } }

describeAnyEngine('The task record', (engine) => {
  const world = useWorld(engine)
  const importRates = (csv: string) =>
    runTask({
      by: world.operator,
      path: world.master.path,
      category: 'rates',
      action: 'import',
      csv,
      query: { file_name: 'rates.csv' },
    })

  it('contains the kind, the result and the times of an ended task', async () => {
    const { path, task } = await importRates('prefix,rate_cost\n1,0.1\nx,0.2')
    const record = {
      id: anId,
      account_id: world.master.id,
      auth_account_id: world.master.id,
      category: 'rates',
      action: 'import',
      status: 'partial',
      file_name: 'rates.csv',
      created: nowOf(world),
      submit_timestamp: nowOf(world),
      start_timestamp: nowOf(world),
      end_timestamp: nowOf(world),
      node: expect.stringMatching(/^\S+$/),
      total_count: 2,
      success_count: 1,
      failure_count: 1,
      csvs: ['in.csv', 'out.csv'],
    }
    expect(task).toEqual(record)
    const [newest] = (await world.operator.get(`${world.master.path}/tasks`)).data
    expect(newest).toEqual(record)
    expect(task.node).toBe((await world.operator.get(path)).body.node)
  })

  it('account_id, auth_account_id: string, who owns the task and who authenticated', async () => {
    const { body } = await world.ross.put(`${world.acme.path}/tasks`, undefined, {
      query: finding,
      ...numbers,
    })
    expect([body.metadata.account_id, body.metadata.auth_account_id]).toEqual([
      world.acme.id,
      world.reseller.id,
    ])
  })

  it('file_name: string, the name of the input file; absent where none was given', async () => {
    const path = `${world.acme.path}/tasks`
    const named = { ...finding, file_name: 'numbers.csv' }
    const first = await world.ada.put(path, undefined, { query: named, ...numbers })
    expect(first.body.metadata.file_name).toBe('numbers.csv')
    const second = await world.ada.put(path, undefined, { query: finding, ...numbers })
    expect(second.body.metadata).not.toHaveProperty('file_name')
  })

  it('records: array of object, the input rows of JSON input', async () => {
    const path = `${world.acme.path}/tasks`
    const records = [{ e164: '+14155550100' }, { e164: '+14155550101' }]
    const made = await world.ada.put(path, { records }, { query: finding })
    expect(made.body.metadata.total_count).toBe(2)
    const input = await world.ada.get(`${path}/${made.body.metadata.id}/input`)
    expect(input.text).toBe('e164\r\n+14155550100\r\n+14155550101\r\n')
    await world.unchanged(async () => {
      for (const [wrong, field] of [
        ['+14155550100', 'records'],
        [['+14155550100'], 'records.0'],
      ] as const)
        expect(await world.ada.put(path, { records: wrong }, { query: finding })).toBreak({
          [field]: ['type'],
        })
    })
  })

  it('submit_timestamp, start_timestamp, end_timestamp: there from when that happened, in Gregorian seconds', async () => {
    const path = `${world.acme.path}/tasks`
    const { metadata } = (await world.ada.put(path, undefined, { query: finding, ...numbers })).body
    expect(metadata.submit_timestamp).toBe(nowOf(world))
    expect(metadata).not.toHaveProperty('start_timestamp')
    world.clock.advance({ minutes: 1 })
    const { task } = await finishTask(world.ada, `${path}/${metadata.id}`)
    expect(task).toMatchObject({
      submit_timestamp: nowOf(world) - 60,
      start_timestamp: nowOf(world),
      end_timestamp: nowOf(world),
    })
  })

  it('csvs: array of string, the CSVs that can be read', async () => {
    const { path, task, output } = await importRates('prefix,rate_cost\nx,0.2')
    expect(task.csvs).toEqual(['in.csv', 'out.csv'])
    const read = (csv_name: string) =>
      world.operator.get(path, { query: { csv_name }, headers: { accept: 'text/csv' } })
    expect((await read('in.csv')).text).toBe('prefix,rate_cost\nx,0.2')
    expect((await read('out.csv')).text.split('\r\n').slice(0, 2)).toEqual(output)
  })

  it('is visible only to users of the account and above it', async () => {
    const { body } = await world.ada.put(`${world.acme.path}/tasks`, undefined, {
      query: finding,
      ...numbers,
    })
    const path = `${world.acme.path}/tasks/${body.metadata.id}`
    for (const person of [world.uli, world.ross]) expect(await person.get(path)).toSucceed()
    expect(await world.rex.get(path)).toFailWith(403, 'forbidden')
  })

  it('has a kind, described by a description and a doc', async () => {
    const query = { category: 'rates', action: 'export' }
    const { tasks } = (await world.anonymous.get('/v2/tasks', { query })).data
    expect(tasks.rates.export).toEqual({
      description: 'Export the default ratedeck',
      doc: expect.stringMatching(/\w/),
    })
  })
})
