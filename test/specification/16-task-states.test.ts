import { afterEach, expect, it } from 'vitest'
import { nowOf } from '../support/world/legs.ts'
import { finishTask } from '../support/world/task-runs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const finding = { category: 'number_management', action: 'find' }
const csv = 'e164\n+14155550100\n+14155550101'

describeAnyEngine('The status of a task', (engine) => {
  const world = useWorld(engine)
  const tasks = () => `${world.acme.path}/tasks`

  const put = (query: Record<string, string>, body: string) =>
    world.ada.put(tasks(), undefined, { query, body, headers: { 'content-type': 'text/csv' } })

  /** The path of a new task. */
  const pending = async () => `${tasks()}/${(await put(finding, csv)).body.metadata.id}`

  const waiting: string[] = []

  /** That of a task which is started, and waits for its turn. */
  const executing = async () => {
    await world.configure('tasks', { max_running: 0 })
    const path = await pending()
    expect(await world.ada.patch(path)).toSucceed()
    waiting.push(path)
    return path
  }
  // No task keeps running during the next test, which compares all that is stored.
  afterEach(async () => {
    for (const path of waiting.splice(0)) await world.ada.patch(`${path}/stop`)
    await world.configure('tasks', { max_running: 4 })
  })

  const finished = async (body: string) => {
    const { metadata } = (await put(finding, body)).body
    const { task } = await finishTask(world.ada, `${tasks()}/${metadata.id}`)
    return { path: `${tasks()}/${metadata.id}`, task }
  }

  const statusOf = async (path: string) => (await world.ada.get(path)).body.metadata.status

  const refusal = (path: string, reason: string) => ({
    message: 'bad identifier',
    cause: path.slice(path.lastIndexOf('/') + 1),
    reason,
  })

  it('PUT with valid category, action, input: `pending`; id, submit_timestamp and total_count are set', async () => {
    const { metadata } = (await put(finding, csv)).body
    expect(metadata).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      status: 'pending',
      submit_timestamp: nowOf(world),
      total_count: 2,
    })
  })

  it('PUT: the input is stored', async () => {
    expect((await world.ada.get(`${await pending()}/input`)).text).toBe(csv)
  })

  it.each([
    ['category', { ...finding, category: 'nothing' }, csv, 404],
    ['action', { ...finding, action: 'nothing' }, csv, 404],
    ['input', finding, 'e164', 500],
  ])('PUT with another %s: no task', async (_what, query, body, status) => {
    expect((await world.unchanged(() => put(query, body))).status).toBe(status)
  })

  it('PATCH of a pending task: `executing`; start_timestamp and node are set', async () => {
    const path = await executing()
    const answer = await world.ada.get(path)
    expect(answer.body.metadata).toMatchObject({
      status: 'executing',
      start_timestamp: nowOf(world),
      node: answer.body.node,
    })
  })

  it('PATCH of an executing task: unchanged, 404 with reason `task already started`', async () => {
    const path = await executing()
    const again = await world.unchanged(() => world.ada.patch(path))
    expect(again).toFailWith(404, 'bad_identifier', refusal(path, 'task already started'))
  })

  it('stop of an executing task: `stopped`, end_timestamp is set', async () => {
    const path = await executing()
    const { metadata } = (await world.ada.patch(`${path}/stop`)).body
    expect(metadata).toMatchObject({ status: 'stopped', end_timestamp: nowOf(world) })
  })

  it('a stopped task cannot be started again', async () => {
    const path = await executing()
    await world.ada.patch(`${path}/stop`)
    expect(await world.unchanged(() => world.ada.patch(path))).toFailWith(404, 'bad_identifier')
    expect(await statusOf(path)).toBe('stopped')
  })

  it('stop of a pending or finished task: unchanged, 404 with reason `task is not running`', async () => {
    for (const path of [await pending(), (await finished(csv)).path]) {
      const answer = await world.unchanged(() => world.ada.patch(`${path}/stop`))
      expect(answer).toFailWith(404, 'bad_identifier', refusal(path, 'task is not running'))
    }
  })

  it('an executing task ends as `success` or as `failure`', async () => {
    await world.operator.put(`${world.acme.path}/phone_numbers/%2B14155550199`)
    expect((await finished('e164\n+14155550199')).task.status).toBe('success')
    expect((await finished('e164\n+14155550100')).task.status).toBe('failure')
  })

  it('DELETE of a finished task: removed; returns the final task metadata', async () => {
    const { path, task } = await finished(csv)
    expect((await world.ada.delete(path)).body.metadata).toEqual(task)
    expect(await world.ada.get(path)).toFailWith(404, 'bad identifier')
  })

  it('DELETE of an executing task: unchanged, 404', async () => {
    const path = await executing()
    expect(await world.unchanged(() => world.ada.delete(path))).toFailWith(404, 'bad_identifier')
    expect(await statusOf(path)).toBe('executing')
  })
})
