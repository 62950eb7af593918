// Telling a receiver again: of one attempt, or of everything behind a sequence.
import { expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { answerWith } from '../support/servers/hook-receiver.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { type MadeHook, useHooks } from '../support/world/webhooks.ts'
import { describeEngines } from '../support/world/world.ts'

describeEngines('telling a webhook again', (engine) => {
  const hooks = useHooks(engine)
  const { world, hook, rename, attempts } = hooks

  it('sends what one attempt was about, under the same event id', async () => {
    const made = await hook(world.acme)
    hooks.receiver.answers(answerWith(404))
    await rename(world.uli, 'Zita')
    const [failed] = await attempts(made, 1)
    hooks.receiver.answers(answerWith(200))
    const answer = await world.ada.post(`${made.path}/replay`, { attempt_id: failed?.id })
    expect(answer.status).toBe(202)
    const [, again] = await attempts(made, 2)
    expect(again).toMatchObject({
      result: 'success',
      event_id: failed?.event_id,
      req_body: failed?.req_body,
    })
  })

  it('is refused for an attempt of another hook, and for a sample', async () => {
    const [made, other] = [await hook(world.acme), await hook(world.acme)]
    await rename(world.uli, 'Zoe')
    const [attempt] = await attempts(other, 1)
    expect((await world.ada.post(`${made.path}/replay`, { attempt_id: attempt?.id })).status).toBe(404)
    const sample = (await world.ada.post(`${made.path}/test`)).data
    expect(await world.ada.post(`${made.path}/replay`, { attempt_id: sample.id })).toBreak({
      attempt_id: ['gone'],
    })
  })

  it('sends every event behind a sequence that the hook wants, in order, and those alone', async () => {
    const account = await world.account(world.reseller)
    const user = await world.user(account)
    const first = await hook(account, { hook: 'user.edited' })
    for (const name of ['One', 'Two', 'Three']) await rename(user, name)
    await world.device(account)
    const told = await attempts(first, 3)
    const ids = told.map(({ event_id: id }) => String(id))
    // A new webhook receives earlier events if a user requests a replay.
    const made = await hook(account, { hook: 'user.edited' })
    const answer = await world.operator.post(`${made.path}/replay`, { after: ids[0] })
    expect(answer.status).toBe(202)
    const again = await attempts(made, 2)
    expect(again.map(({ event_id: id }) => id)).toEqual(ids.slice(1))
  })

  it('sends those of sub-accounts where the hook asks for them', async () => {
    const account = await world.account(world.reseller)
    const user = await world.user(account)
    const [own, below, all] = await Promise.all([
      hook(world.reseller, { hook: 'user.created' }),
      hook(world.reseller, { hook: 'user.created', include_subaccounts: true }),
      hook(world.master, { hook: 'user.created', include_subaccounts: true }),
    ])
    const after = '0'.repeat(16)
    for (const { path } of [own, below, all]) await world.operator.post(`${path}/replay`, { after })
    const idsAt = ({ at }: MadeHook) => hooks.receiver.to(at).map(({ json }) => json.id as string)
    for (const made of [below, all])
      await eventually(
        () => idsAt(made),
        (ids) => ids.includes(user.id),
      )
    // This replay was requested first, so all its events have been delivered.
    expect(idsAt(own)).not.toContain(user.id)
  })

  it('replaces a replay that is still waiting', async () => {
    const made = await hook(world.acme, { hook: 'user.*' })
    await rename(world.uli, 'Zacharias')
    await attempts(made, 1)
    expect(await world.ada.patch(made.path, { enabled: false })).toSucceed()
    const rows = (table: string) =>
      world.server.store.all<{ turn: string; sequence: number }>(
        `SELECT turn, sequence FROM ${table} WHERE hook_id = $1 AND turn <> ''`,
        [made.id],
      )
    const turns: string[] = []
    for (let time = 0; time < 2; time += 1) {
      await world.ada.post(`${made.path}/replay`, { after: '0'.repeat(16) })
      await eventually(
        () => rows('webhook_replays'),
        ({ length }) => length === 0,
      )
      const waiting = await rows('webhook_deliveries')
      expect(waiting.length).toBeGreaterThan(0)
      expect(new Set(waiting.map(({ sequence }) => sequence)).size).toBe(waiting.length)
      turns.push(...new Set(waiting.map(({ turn }) => turn)))
    }
    expect(new Set(turns).size).toBe(2)
    expect(turns).toHaveLength(2)
  })

  it('sends each of more events than one page holds', async () => {
    const account = await world.account(world.reseller)
    // The deliveries of a disabled hook stay in the store.
    const made = await hook(account, { hook: 'cdr.created', enabled: false })
    const count = 501
    await sendLegs(
      world,
      Array.from({ length: count }, () => legOf(account, nowOf(world))),
    )
    await world.operator.post(`${made.path}/replay`, { after: '0'.repeat(16) })
    const waiting = await eventually(
      () =>
        world.server.store.all<{ sequence: number }>(
          'SELECT sequence FROM webhook_deliveries WHERE hook_id = $1',
          [made.id],
        ),
      ({ length }) => length === count,
    )
    expect(new Set(waiting.map(({ sequence }) => sequence)).size).toBe(count)
  })

  // The trigger is written in the SQL of SQLite.
  it.runIf(engine === 'sqlite')(
    'happens although a later write of the same batch of events failed',
    async () => {
      const { store } = world.server
      const account = await world.account(world.reseller)
      const user = await world.user(account)
      const made = await hook(account, { enabled: false })
      await rename(user, 'Zora')
      // Their deliveries stay in the store.
      hooks.receiver.answers(answerWith(500))
      await hook(account, { hook: 'webhook.replayed' })
      for (let count = 0; count < 3; count += 1) await hook(account, { hook: 'cdr.created' })
      const legs = 400
      const count = async (table: string, where: string) =>
        Number((await store.all(`SELECT count(*) AS count FROM ${table} WHERE ${where}`))[0]?.count)
      const ofAccount = `turn = '' AND account_id = '${account.id}'`
      const failFrom = (most: number) =>
        store.writeUnrecorded([
          { sql: 'DROP TRIGGER IF EXISTS full_queue', params: [] },
          {
            sql: `CREATE TRIGGER full_queue BEFORE INSERT ON webhook_deliveries
            WHEN (SELECT count(*) FROM webhook_deliveries WHERE ${ofAccount}) >= ${most}
            BEGIN SELECT RAISE(ABORT, 'the queue is full'); END`,
            params: [],
          },
        ])
      // The dispatcher has read all earlier events, also those of other accounts.
      await sendLegs(world, [legOf(account, nowOf(world))])
      await eventually(
        () => count('webhook_deliveries', ofAccount),
        (found) => found === 3,
      )
      await failFrom(0)
      const answer = await world.operator.post(`${made.path}/replay`, { after: '0'.repeat(16) })
      expect(answer.status).toBe(202)
      await sendLegs(
        world,
        Array.from({ length: legs }, () => legOf(account, nowOf(world))),
      )
      // The first write stores 1000 deliveries: that of the request and those of 333 legs.
      await failFrom(1003)
      await eventually(
        () => count('webhook_deliveries', ofAccount),
        (found) => found === 1003,
      )
      await store.writeUnrecorded([{ sql: 'DROP TRIGGER full_queue', params: [] }])
      await eventually(
        () => count('webhook_deliveries', ofAccount),
        (found) => found === 3 + 1 + 3 * legs,
      )
      await eventually(
        () => count('webhook_replays', `hook_id = '${made.id}'`),
        (found) => found === 0,
      )
      expect(await count('webhook_deliveries', `hook_id = '${made.id}'`)).toBeGreaterThan(0)
    },
  )

  it('has an event in the feed, with the user who requested it', async () => {
    const watcher = await hook(world.acme, { hook: 'webhook.replayed', version: 'v2' })
    const made = await hook(world.acme)
    await world.ada.post(`${made.path}/replay`, { after: '0'.repeat(16) })
    const [call] = await hooks.receiver.told(watcher.at, 1)
    expect(call?.json.data.metadata.id).toBe(made.id)
  })
})
