// The records before and after a change, as events show them and as the store contains them.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createVerification } from '../../src/commands/verification/audit.sql.ts'
import type { Json } from '../../src/lib/json.ts'
import { buildWorld, describeEngines, type TestAccount, type World } from '../support/world/world.ts'

interface Event {
  type: string
  record: { id: string }
  before?: Json
  after?: Json
}

/** A record of 500 kB. */
const large = () => ({
  name: 'Large',
  notes: Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`key-${at}`, '.'.repeat(90)])),
})

describeEngines('records in events', (engine) => {
  let world: World
  let account: TestAccount

  // Each test has its own world: weeks pass in them.
  beforeEach(async () => {
    world = await buildWorld(engine)
    account = await world.account(world.reseller)
  })

  afterEach(async () => {
    expect(world.takeErrors()).toEqual([])
    await world.close()
  })

  const days = (count: number) => world.clock.advance({ hours: 24 * count })
  const run = (job: string) => world.server.scheduler.runNow(job)

  /** The operator with a token of now. */
  const operator = async () => world.clientWithToken(await world.tokenOf(world.master, world.operator.id))

  const made = async (record: Json) => {
    const { data } = await (await operator()).put(`${account.path}/devices`, record)
    return { id: String(data.id), path: `${account.path}/devices/${data.id}` }
  }

  const patched = async (path: string, change: Json) => {
    const answer = await (await operator()).patch(path, change)
    expect(answer).toSucceed()
    return answer.data as Json
  }

  /** The events of a record. Pages are short where records are large. */
  const eventsOf = async (id: string) => {
    const reader = await operator()
    const events: Event[] = []
    for (let key: string | undefined = ''; key !== undefined; ) {
      const query: Record<string, string> = { record_id: id, with_before: 'true', start_key: key }
      const { body } = await reader.get(`${account.path}/events`, { query })
      events.push(...(body.data as Event[]))
      key = body.next_start_key
    }
    return events
  }

  /** Bytes of each entry of a record, in the order in which they were written. */
  const bytesOf = async (id: string) => {
    const columns = ['author', 'changes', 'before_doc', 'after_doc', 'base_id']
    const sum = columns.map((column) => `coalesce(octet_length(${column}), 0)`).join(' + ')
    const rows = await world.server.store.all(
      `SELECT ${sum} AS bytes FROM audit_log WHERE record_id = $1 ORDER BY id`,
      [id],
    )
    return rows.map(({ bytes }) => Number(bytes))
  }

  const whole = 500_000

  it('are complete, and an edit of 20 bytes of 500 kB stores less than 2 kB', async () => {
    const { id, path } = await made(large())
    const states = [await patched(path, { name: 'First' })]
    for (const change of [{ notes: { 'key-1': null } }, { notes: { added: 'x' } }, { note: 'y' }])
      states.push(await patched(path, change))
    const [created = 0, ...edits] = await bytesOf(id)
    expect(created).toBeGreaterThan(whole)
    expect(Math.max(...edits)).toBeLessThan(2000)
    expect(await (await operator()).delete(path)).toSucceed()

    const [first, ...events] = await eventsOf(id)
    expect(first?.after).toMatchObject({ id, ...large() })
    const deleted = events.pop()
    expect(events.map(({ after }) => after)).toEqual(states.map((state) => expect.objectContaining(state)))
    expect(events.map(({ before }) => before)).toEqual(
      [first, ...events].slice(0, -1).map((one) => one?.after),
    )
    expect(deleted).toMatchObject({ type: 'device.deleted', before: events.at(-1)?.after })
    expect(deleted).not.toHaveProperty('after')
  })

  it('are complete where everything differs, and later edits are small again', async () => {
    const { id, path } = await made(large())
    const other = Object.fromEntries(Object.keys(large().notes).map((key) => [key, ':'.repeat(85)]))
    const states = [
      await patched(path, { notes: other }),
      await patched(path, { name: 'Other' }),
      await patched(path, { notes: null }),
      await patched(path, { name: 'Small' }),
    ]
    const [, ...edits] = await bytesOf(id)
    expect(edits[1]).toBeLessThan(2000)
    const [created, ...events] = await eventsOf(id)
    expect(events.map(({ after }) => after)).toEqual(states.map((state) => expect.objectContaining(state)))
    expect(events[2]?.after).not.toHaveProperty('notes')
    expect(events.map(({ before }) => before)).toEqual(
      [created, ...events].slice(0, -1).map((one) => one?.after),
    )
  })

  it('are complete in edits that an earlier version stored whole', async () => {
    const { id, path } = await made(large())
    const states = [await patched(path, { name: 'First' })]
    const [created, edited] = await eventsOf(id)
    const wholeEdit =
      'UPDATE audit_log SET before_doc = $2, after_doc = $3 WHERE record_id = $1 AND changes IS NOT NULL'
    await world.server.store.writeUnrecorded([
      { sql: wholeEdit, params: [id, JSON.stringify(created?.after), JSON.stringify(edited?.after)] },
      { sql: 'UPDATE audit_log SET base_id = NULL WHERE record_id = $1', params: [id] },
    ])
    states.push(await patched(path, { name: 'Second' }), await patched(path, { name: 'Third' }))
    const events = await eventsOf(id)
    expect(events.slice(0, 2)).toEqual([created, edited])
    expect(events.slice(1).map(({ after }) => after)).toEqual(
      states.map((state) => expect.objectContaining(state)),
    )
    const bytes = await bytesOf(id)
    expect(bytes.map((count) => count > whole)).toEqual([true, true, true, false])
  })

  it.each([0, 7])(
    'are complete as long as their event is shown, with %s days of audit',
    async (auditDays) => {
      const { id, path } = await made(large())
      const shown = async () =>
        (await eventsOf(id)).map(({ before, after }) => [
          before?.name,
          after?.name,
          Object.keys(after?.notes ?? {}).length,
        ])
      await patched(path, { name: 'First' })
      await world.configure('events', { audit_retention_days: auditDays })
      days(29)
      await patched(path, { name: 'Second' })
      // The first edit is forgotten; what the second one refers to is 59 days old.
      days(30)
      await run('events')
      await run('audit')
      await run('events')
      expect(await shown()).toEqual([['First', 'Second', 5000]])
      await patched(path, { name: 'Third' })
      days(2)
      await run('events')
      expect(await shown()).toEqual([['Second', 'Third', 5000]])
      // Nothing whole is left of edits, and of what the audit does not keep.
      days(70)
      await run('events')
      await run('audit')
      await run('events')
      expect(await eventsOf(id)).toEqual([])
      const left = await bytesOf(id)
      expect(left.filter((bytes) => bytes > whole)).toHaveLength(auditDays === 0 ? 1 : 0)
      expect((await createVerification(world.server.store).all(() => undefined)).faults).toEqual([])
    },
  )
})
