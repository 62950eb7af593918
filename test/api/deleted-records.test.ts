// Events and audit entries of deleted records: a walk over all routes that delete.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { nameOf } from '../support/world/route-samples.ts'
import { callRoute, isPlan, onAccount, setStage, writingRoutes } from '../support/world/route-stage.ts'
import { walkLimitMs } from '../support/world/walk.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

interface Event {
  sequence: string
  type: string
  account_id: string
  record: { kind: string; id: string }
  before?: Json
  after?: Json
}

const isDeletion = ({ type }: Event) => type.endsWith('.deleted') || type === 'number.released'

describeAnyEngine('a deleted record', (engine) => {
  const world = useWorld(engine)

  /** The deletion is in the audit with every field of the record. */
  const expectAudited = async ({ account_id, record, before = {} }: Event) => {
    const query = { kind: record.kind, record_id: record.id, action: 'deleted' }
    const [entry] = (await world.operator.get(`/v2/accounts/${account_id}/audit`, { query })).data
    const heads = entry.changes.map(({ path }: { path: string }) => path.split('.')[0])
    expect([...new Set(['id', ...heads])].toSorted()).toEqual(Object.keys(before).toSorted())
    for (const change of entry.changes) expect(change).toEqual({ path: change.path, from: expect.anything() })
  }

  it('is reported completely by its event and in the audit', { timeout: walkLimitMs }, async () => {
    const known = new Map<string, Json>()
    const deletedKinds = new Set<string>()
    let place = '0000000000000000'

    const check = async (route: string, event: Event) => {
      const { type, account_id, record, before, after } = event
      const key = `${account_id} ${record.kind} ${record.id}`
      for (const shown of [before, after])
        if (shown) expect([type, shown.id ?? 'none']).toEqual([type, record.id])
      if (isDeletion(event)) {
        expect([route, after]).toEqual([route, undefined])
        // Events of edits show more than the record itself.
        expect(known.get(key), `${route}: ${type}`).toMatchObject(before ?? { missing: true })
        await expectAudited(event)
        deletedKinds.add(record.kind)
      }
      if (after) known.set(key, after)
    }

    const checkEvents = async (route: string) => {
      for (;;) {
        const query = { include_subaccounts: true, with_before: true, after: place, page_size: 1000 }
        const events = (await world.operator.get(`${world.master.path}/events`, { query })).data as Event[]
        for (const event of events) await check(route, event)
        const last = events.at(-1)
        if (!last) return
        place = last.sequence
      }
    }

    const plans = await setStage(world, `${onAccount}/service_plans`)
    const others = await setStage(world)
    await checkEvents('none')
    // Records below an account are deleted before the account.
    const routes = writingRoutes(world)
      .filter(({ method, path }) => method === 'DELETE' && path !== '/v2/token_auth')
      .sort((a, b) => b.path.length - a.path.length)
    for (const route of routes) {
      const name = nameOf(route)
      await callRoute(world.operator, route, isPlan(name) ? plans : others, 'deletes')
      await checkEvents(name)
    }
    // Areas may add kinds.
    const expected = [
      'account',
      'account_config',
      'alert',
      'api_key',
      'apps_store',
      'callflow',
      'connectivity',
      'device',
      'group',
      'multi_factor',
      'notification',
      'number',
      'rate',
      'resource',
      'security',
      'service_plan',
      'system_config',
      'task',
      'token_restrictions',
      'user',
      'user_photo',
      'verification_mails',
      'webhook',
      'whitelabel',
      'whitelabel_email',
    ]
    expect([...deletedKinds]).toEqual(expect.arrayContaining(expected))
  })
})
