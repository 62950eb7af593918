// The events that each webhook receives.
import { expect, it } from 'vitest'
import { createWebhookStore } from '../../src/areas/events/webhooks/store.ts'
import { eventually } from '../support/run/eventually.ts'
import { useHooks } from '../support/world/webhooks.ts'
import { describeEngines } from '../support/world/world.ts'

describeEngines('a webhook', (engine) => {
  const hooks = useHooks(engine)
  const { world, hook, rename } = hooks

  const eventsAt = (at: string) => hooks.receiver.to(at).map(({ json }) => json.hook_event as string)

  /** This event is sent last, so all other events have been sent before. */
  const sentinel = async () => {
    const last = await hook(world.master, { hook: 'account.edited', include_subaccounts: true })
    await world.operator.patch(world.rival.path, { announcement: last.id })
    await hooks.receiver.told(last.at, 1)
    await eventually(
      () => world.server.store.all('SELECT hook_id FROM webhook_deliveries'),
      (rows) => rows.length === 0,
    )
  }

  it('receives the events of a created, changed and deleted user, but none while the webhook is disabled', async () => {
    const { at, path } = await hook(world.acme)
    const user = await world.user(world.acme)
    await rename(user, 'Other')
    await world.operator.delete(user.path)
    const calls = await hooks.receiver.told(at, 3)
    expect(calls.map(({ json }) => [json.id, json.type, json.action])).toEqual([
      [user.id, 'user', 'doc_created'],
      [user.id, 'user', 'doc_edited'],
      [user.id, 'user', 'doc_deleted'],
    ])
    await world.operator.patch(path, { enabled: false })
    await rename(world.uli, 'Unheard')
    await sentinel()
    await world.operator.patch(path, { enabled: true })
    await rename(world.uli, 'Heard')
    const all = await hooks.receiver.told(at, 4)
    await sentinel()
    expect(all).toHaveLength(4)
    expect(hooks.receiver.to(at)).toHaveLength(4)
  })

  it('receives the kinds and actions that its custom_data names', async () => {
    const created = await hook(world.acme, { custom_data: { type: 'device', action: 'doc_created' } })
    const phone = await world.device(world.acme)
    await world.operator.patch(phone.path, { name: 'Renamed' })
    await rename(world.uli, 'Uschi')
    await sentinel()
    expect(hooks.receiver.to(created.at).map(({ json }) => [json.type, json.action])).toEqual([
      ['device', 'doc_created'],
    ])
  })

  it('receives only events of its account, unless it includes those below', async () => {
    const own = await hook(world.reseller)
    const below = await hook(world.reseller, { include_subaccounts: true })
    const everywhere = await hook(world.master, { include_subaccounts: true })
    const rival = await hook(world.rival, { include_subaccounts: true })
    await rename(world.uli, 'Ulf')
    const [call] = await hooks.receiver.told(below.at, 1)
    await hooks.receiver.told(everywhere.at, 1)
    // The account of the webhook is in the header, that of the event in the payload.
    expect(call?.headers['x-account-id']).toBe(world.reseller.id)
    expect(call?.json.account_id).toBe(world.acme.id)
    await sentinel()
    expect(hooks.receiver.to(own.at)).toEqual([])
    expect(hooks.receiver.to(rival.at)).toEqual([])
  })

  it('of all receives each event once', async () => {
    const { at } = await hook(world.rival, { hook: 'all' })
    await world.operator.patch(world.rival.path, { announcement: 'One' })
    const phone = await world.device(world.rival)
    await world.operator.delete(phone.path)
    await sentinel()
    const ids = hooks.receiver.to(at).map(({ headers }) => headers['x-event-id'])
    expect(new Set(ids).size).toBe(ids.length)
    expect(eventsAt(at)).toEqual(
      expect.arrayContaining(['account.edited', 'device.created', 'device.deleted']),
    )
  })

  it('of a kind receives all events of that kind, and no others', async () => {
    const { at } = await hook(world.acme, { hook: 'device.*' })
    const phone = await world.device(world.acme)
    await rename(world.uli, 'Urs')
    await world.operator.delete(phone.path)
    await sentinel()
    expect(eventsAt(at)).toEqual(['device.created', 'device.deleted'])
  })

  it('of notices receives the notices that are emailed', async () => {
    const { at } = await hook(world.acme, { hook: 'notifications', custom_data: { type: 'new_user' } })
    const user = await world.user(world.acme)
    const [call] = await hooks.receiver.told(at, 1)
    expect(call?.json).toMatchObject({ hook_event: 'notifications', type: 'new_user', id: user.id })
  })

  it('receives no event from before its creation', async () => {
    await rename(world.uli, 'Before')
    await sentinel()
    const { at } = await hook(world.acme)
    await rename(world.uli, 'Afterwards')
    await hooks.receiver.told(at, 1)
    await sentinel()
    expect(hooks.receiver.to(at)).toHaveLength(1)
  })

  it('of switch events waits for one', async () => {
    const { at, path } = await hook(world.acme, { hook: 'channel_create' })
    await rename(world.uli, 'Ursel')
    await sentinel()
    expect(hooks.receiver.to(at)).toEqual([])
    expect((await world.operator.get(`${path}/attempts`)).data).toEqual([])
  })

  it('is deleted with its account, and so are its attempts', async () => {
    const account = await world.account(world.reseller)
    const { at, id } = await hook(account, { hook: 'all' })
    await world.user(account)
    await hooks.receiver.told(at, 1)
    expect((await world.operator.delete(account.path)).status).toBe(200)
    await sentinel()
    for (const table of ['webhook_deliveries', 'webhook_attempts', 'webhook_failures'])
      expect(
        await world.server.store.all(`SELECT hook_id FROM ${table} WHERE hook_id = $1`, [id]),
        table,
      ).toEqual([])
  })

  it('makes the server read events of its account, and call records only if its hook asks for them', async () => {
    const [users, calls, none] = [await world.account(), await world.account(), await world.account()]
    await hook(users)
    await hook(calls)
    await hook(calls, { hook: 'cdr.created' })
    const owners = await createWebhookStore(world.server.store).owners()
    const wishes = new Map(owners.map(({ accountId, wantsCallRecords }) => [accountId, wantsCallRecords]))
    expect([users, calls, none].map(({ id }) => wishes.get(id))).toEqual([false, true, undefined])
  })
})
