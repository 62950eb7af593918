// Endpoints: tasks.
import { expect, it } from 'vitest'
import { expectNoStrangers, said, saidError } from '../support/matchers/said.ts'
import type { Answer, RequestOptions } from '../support/world/client.ts'
import { nowOf } from '../support/world/legs.ts'
import { finishTask } from '../support/world/task-runs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const finding = { category: 'number_management', action: 'find' }
const listing = { category: 'number_management', action: 'list' }
const importing = { category: 'rates', action: 'import' }
const csv = { headers: { 'content-type': 'text/csv' }, body: 'e164\n+14155550100\n' }

describeAnyEngine('Endpoints: tasks', (engine) => {
  // Started tasks stay where they are until a test lets them run.
  const world = useWorld(engine, ({ configure }) => configure('tasks', { max_running: 0 }))

  const tasksOf = () => `${world.acme.path}/tasks`
  const pathOf = ({ body }: Answer) => `${tasksOf()}/${body.metadata.id}`
  const make = (options: RequestOptions, data?: object) => world.ada.put(tasksOf(), data, options)
  const makeFinding = () => make({ query: finding, ...csv })

  const pending = (more: object = {}) => ({
    id: expect.stringMatching(/^[0-9a-f]{32}$/),
    account_id: world.acme.id,
    auth_account_id: world.acme.id,
    ...finding,
    status: 'pending',
    created: nowOf(world),
    submit_timestamp: nowOf(world),
    total_count: 1,
    csvs: ['in.csv'],
    ...more,
  })

  it('the tasks of an account are for itself and those above', () =>
    expectNoStrangers(world, [
      ['GET', '/v2/accounts/{account_id}/tasks'],
      ['PUT', '/v2/accounts/{account_id}/tasks'],
      ['GET', '/v2/accounts/{account_id}/tasks/{task_id}'],
      ['PATCH', '/v2/accounts/{account_id}/tasks/{task_id}'],
      ['PATCH', '/v2/accounts/{account_id}/tasks/{task_id}/stop'],
      ['DELETE', '/v2/accounts/{account_id}/tasks/{task_id}'],
      ['GET', '/v2/accounts/{account_id}/tasks/{task_id}/input'],
      ['GET', '/v2/accounts/{account_id}/tasks/{task_id}/output'],
    ]))

  it('GET /v2/tasks: data.tasks by action with description and doc, without a token', async () => {
    const answer = await world.anonymous.get('/v2/tasks', { query: listing })
    const help = { description: expect.any(String), doc: expect.any(String) }
    expect(said(answer)).toEqual({
      status: 200,
      // Among the actions of its category, and alone.
      data: { tasks: { number_management: { list: help }, list: help } },
      metadata: {},
    })
  })

  it('GET /v2/tasks with an unknown pair: 500 `invalid request`', async () => {
    const query = { category: 'rates', action: 'unheard-of' }
    expect(said(await world.anonymous.get('/v2/tasks', { query }))).toEqual(
      saidError(500, 'invalid request', { message: 'invalid request' }),
    )
  })

  it('GET …/tasks: array of task records; page_size', async () => {
    const account = await world.account(world.reseller)
    const path = `${account.path}/tasks`
    expect(said(await world.ross.get(path))).toEqual({ status: 200, data: [], metadata: {}, page_size: 0 })
    const made = await world.ross.put(path, undefined, { query: finding, ...csv })
    expect(said(await world.ross.get(path))).toEqual({
      status: 200,
      data: [
        pending({ id: made.body.metadata.id, account_id: account.id, auth_account_id: world.reseller.id }),
      ],
      metadata: {},
      page_size: 1,
    })
  })

  it('PUT …/tasks with a raw CSV body: data empty, the record in metadata', async () => {
    const made = await make({ query: { ...finding, file_name: 'numbers.csv' }, ...csv })
    expect(said(made)).toEqual({ status: 201, data: {}, metadata: pending({ file_name: 'numbers.csv' }) })
  })

  it('PUT …/tasks with JSON data.records and data.file_name', async () => {
    const records = [{ e164: '+14155550100' }, { e164: '+14155550101' }]
    const made = await make({ query: finding }, { records, file_name: 'numbers.json' })
    expect(said(made)).toEqual({
      status: 201,
      data: {},
      metadata: pending({ file_name: 'numbers.json', total_count: 2 }),
    })
  })

  it('PUT …/tasks with no body', async () => {
    const made = await make({ query: listing })
    const { total_count: _, ...metadata } = pending({ ...listing, csvs: [] }) as Record<string, unknown>
    expect(said(made)).toEqual({ status: 201, data: {}, metadata })
  })

  it('GET …/tasks/{task_id}: metadata = the task record including csvs', async () => {
    const made = await makeFinding()
    expect(said(await world.ada.get(pathOf(made)))).toEqual({ status: 200, data: {}, metadata: pending() })
  })

  it('GET …/tasks/{task_id} with csv_name and Accept: text/csv: the CSV', async () => {
    const made = await makeFinding()
    const { status, headers, text } = await world.ada.get(pathOf(made), {
      query: { csv_name: 'in.csv' },
      headers: { accept: 'text/csv' },
    })
    expect([status, headers['content-type'], text]).toEqual([200, 'text/csv', csv.body])
  })

  it('PATCH …/tasks/{task_id}: metadata with status `executing`', async () => {
    const made = await makeFinding()
    const started = await world.ada.patch(pathOf(made))
    expect(said(started)).toEqual({
      status: 200,
      data: {},
      metadata: pending({ status: 'executing', start_timestamp: nowOf(world), node: started.body.node }),
    })
  })

  it('PATCH …/tasks/{task_id}/stop: metadata with status `stopped`; node, page_size, timestamp, version', async () => {
    const made = await makeFinding()
    await world.ada.patch(pathOf(made))
    const stopped = await world.ada.patch(`${pathOf(made)}/stop`)
    expect(said(stopped)).toEqual({
      status: 200,
      data: {},
      metadata: pending({
        status: 'stopped',
        start_timestamp: nowOf(world),
        end_timestamp: nowOf(world),
        node: stopped.body.node,
        success_count: 0,
        failure_count: 0,
        csvs: ['in.csv', 'out.csv'],
      }),
      page_size: 1,
    })
    expect(stopped.body).toMatchObject({
      node: expect.any(String),
      timestamp: expect.any(String),
      version: expect.any(String),
    })
  })

  it('DELETE …/tasks/{task_id}: metadata = the final task record', async () => {
    const made = await makeFinding()
    expect(said(await world.ada.delete(pathOf(made)))).toEqual({
      status: 200,
      data: {},
      metadata: pending(),
    })
    expect(await world.ada.get(pathOf(made))).toFailWith(404, 'bad identifier')
  })

  it('GET …/tasks/{task_id}/input: the input as a CSV stream', async () => {
    const input = await world.ada.get(`${pathOf(await makeFinding())}/input`)
    expect([input.status, input.headers['content-type'], input.text]).toEqual([200, 'text/csv', csv.body])
  })

  it('GET …/tasks/{task_id}/output: the output as a CSV stream', async () => {
    await world.configure('tasks', { max_running: 4 })
    const { path } = await finishTask(world.ada, pathOf(await makeFinding()))
    await world.configure('tasks', { max_running: 0 })
    const output = await world.ada.get(`${path}/output`)
    const text = 'e164,error\r\n+14155550100,not_found\r\n'
    expect([output.status, output.headers['content-type'], output.text]).toEqual([200, 'text/csv', text])
  })

  it('tasks on system resources are for the super-duper administrator', async () => {
    const rates = { query: importing, headers: csv.headers, body: 'prefix,rate_cost\n1,0.1\n' }
    expect(await world.unchanged(() => make(rates))).toFailWith(403, 'forbidden')
    expect(await world.unchanged(() => world.ross.put('/v2/tasks', undefined, rates))).toFailWith(
      403,
      'forbidden',
    )
    expect(await world.operator.put('/v2/tasks', undefined, rates)).toSucceedWith({})
  })

  it('tasks on system resources may omit /accounts/{account_id}; leaving it in has no effect', async () => {
    const { operator, master, acme } = world
    const rates = { query: importing, headers: csv.headers, body: 'prefix,rate_cost\n1,0.1\n' }
    for (const place of ['/v2/tasks', `${master.path}/tasks`, `${acme.path}/tasks`]) {
      const made = await operator.put(place, undefined, rates)
      const { id, account_id } = made.body.metadata
      expect(made.body.metadata).toMatchObject({ ...importing, status: 'pending', total_count: 1 })
      expect(account_id).toBe(master.id)
      for (const where of ['/v2/tasks', `${master.path}/tasks`, `${acme.path}/tasks`])
        for (const part of ['', '/input'])
          expect(await operator.get(`${where}/${id}${part}`)).toMatchObject({ status: 200 })
      expect(await world.ada.get(`${acme.path}/tasks/${id}`)).toFailWith(404, 'bad identifier')
      expect(await world.ross.get(`${acme.path}/tasks/${id}`)).toFailWith(404, 'bad identifier')
      expect(await operator.patch(`${place}/${id}`)).toSucceedWith({})
      expect(await operator.patch(`${place}/${id}/stop`)).toSucceedWith({})
      const next = await operator.put(`${place}/${id}/continue`)
      expect(next.body.metadata).toMatchObject({ account_id: master.id, continuation_of: id })
    }
  })
})
