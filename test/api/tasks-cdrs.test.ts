// cdrs.export and billing.dump: call detail records as the output of a task.
import { beforeEach, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { eventually } from '../support/run/eventually.ts'
import type { Answer } from '../support/world/client.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { describeAnyEngine, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

const day = 86_400

describeAnyEngine('tasks on call detail records', (engine) => {
  const world = useWorld(engine)
  let account: TestAccount
  let admin: Person

  beforeEach(async () => {
    account = await world.account()
    admin = await world.admin(account)
  })

  const leg = (timestamp: number, more: Json = {}) => legOf(account, timestamp, more)
  const make = (query: string, by = admin) => by.put(`${account.path}/tasks?${query}`)

  const run = async (made: Answer, by = admin) => {
    expect(made).toSucceedWith({})
    const path = `${account.path}/tasks/${made.body.metadata.id}`
    expect(await by.patch(path)).toSucceed()
    const task = await eventually(
      async () => (await by.get(path)).body.metadata,
      ({ status }) => status !== 'executing',
    )
    const text = (await by.get(`${path}/output`)).text
    const [header = '', ...lines] = text.split('\r\n').slice(0, -1)
    return { task, text, header: header.split(','), lines }
  }

  const idsIn = ({ header, lines }: { header: string[]; lines: string[] }) =>
    lines.map((line) => line.split(',')[header.indexOf('call_id')])

  it('export a range of any length, oldest first, with the columns that hold something', async () => {
    const now = nowOf(world)
    await sendLegs(world, [
      leg(now - 100 * day, { call_id: 'oldest' }),
      leg(now - 40 * day, { call_id: 'old' }),
      leg(now, { call_id: 'new' }),
      leg(now + day, { call_id: 'later' }),
    ])
    const made = await make(`category=cdrs&action=export&created_from=${now - 50 * day}&created_to=${now}`)
    expect(made.body.metadata.parameters).toEqual({ created_from: now - 50 * day, created_to: now })
    const result = await run(made)
    expect(result.task).toMatchObject({ status: 'success', success_count: 2, failure_count: 0 })
    expect(idsIn(result)).toEqual(['old', 'new'])
    const all = await run(await make(`category=cdrs&action=export&created_from=0&created_to=${now + day}`))
    expect(idsIn(all)).toEqual(['oldest', 'old', 'new', 'later'])
    expect(all.header).not.toContain('media_recordings')
  })

  it('write the lines that the list writes', async () => {
    const now = nowOf(world)
    await sendLegs(
      world,
      Array.from({ length: 1203 }, (_, index) => leg(now - index, { call_id: `leg ${index}` })),
    )
    const result = await run(await make('category=cdrs&action=export'))
    expect(result.lines).toHaveLength(1203)
    const listed = await admin.get(`${account.path}/cdrs`, {
      query: { accept: 'text/csv', paginate: 'false', ascending: 'true', page_size: 1 },
    })
    const [header = '', ...lines] = listed.text.split('\r\n').slice(0, -1)
    const columns = header.split(',')
    const kept = result.header.map((name) => columns.indexOf(name))
    expect(kept).not.toContain(-1)
    const withoutQuotes = (line: string) => line.replace(/"[^"]*"/g, (text) => text.replaceAll(',', ';'))
    const narrowed = lines.map((line) => {
      const cells = withoutQuotes(line).split(',')
      return kept.map((at) => cells[at]).join(',')
    })
    expect(result.lines.map(withoutQuotes).sort()).toEqual(narrowed.sort())
  })

  it('show resellers what calls cost them, and others not', async () => {
    const now = nowOf(world)
    await sendLegs(world, [leg(now, { call_id: 'one' })])
    const own = await run(await make('category=cdrs&action=export'))
    expect(own.header).not.toContain('reseller_cost')
    const above = await run(await make('category=cdrs&action=export', world.operator), world.operator)
    expect(above.header).toContain('reseller_cost')
    const { id } = above.task
    const read = (who: Person) => who.get(`${account.path}/tasks/${id}/output`)
    expect((await read(admin)).text.split('\r\n')[0]).not.toContain('reseller')
    expect((await read(world.operator)).text.split('\r\n')[0]).toContain('reseller_cost')
  })

  it.each([
    ['created_from=x', { created_from: ['type'] }],
    ['created_to=-1', { created_to: ['type'] }],
    ['utc_offset=x', { utc_offset: ['type'] }],
    ['created_from=20&created_to=10', { created_from: ['date_range'] }],
  ])('refuse %s', async (query, rules) => {
    const answer = await world.unchanged(() => make(`category=cdrs&action=export&${query}`))
    expect(answer).toBreak(rules)
  })

  it('take their range from data as well', async () => {
    const answer = await admin.put(`${account.path}/tasks?category=cdrs&action=export`, {
      created_from: 10,
      created_to: 20,
      utc_offset: -3600,
    })
    expect(answer.body.metadata.parameters).toEqual({ created_from: 10, created_to: 20, utc_offset: -3600 })
  })

  it('dump the current month, newest first', async () => {
    const now = nowOf(world)
    const firstOfMonth = 63_934_444_800
    await sendLegs(world, [
      leg(firstOfMonth - 1, { call_id: 'last month' }),
      leg(firstOfMonth, { call_id: 'first' }),
      leg(now, { call_id: 'now' }),
    ])
    const made = await make('category=billing&action=dump')
    expect(made.body.metadata.parameters).toEqual({ created_from: firstOfMonth, created_to: now })
    expect(idsIn(await run(made))).toEqual(['now', 'first'])
  })

  it('write a header alone when there is nothing', async () => {
    const result = await run(await make('category=billing&action=dump'))
    expect(result.task).toMatchObject({ status: 'success', success_count: 0 })
    expect(result.header).toHaveLength(35)
    expect(result.lines).toEqual([])
  })
})
