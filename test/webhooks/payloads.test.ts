// The payloads that receivers get, and how they verify the sender.
import { createHmac } from 'node:crypto'
import { expect, it } from 'vitest'
import { ChangeSet } from '../../src/storage/change-set.ts'
import type { HookCall } from '../support/servers/hook-receiver.ts'
import { useHooks } from '../support/world/webhooks.ts'
import { describeAnyEngine } from '../support/world/world.ts'

const ofUsers = { hook: 'object', custom_data: { type: 'user', action: 'all' } }

/** The proofs of a signature that fit, by key. */
const proofsOf = ({ headers }: HookCall, content: string, keys: readonly string[]) => {
  const signature = String(headers['x-crosspoint-signature'])
  const at = /^t=(\d+),/.exec(signature)?.[1]
  const proofs = [...signature.matchAll(/v1=([0-9a-f]{64})/g)].map(([, proof]) => proof)
  const wanted = keys.map((key) => createHmac('sha256', key).update(`${at}.${content}`).digest('hex'))
  return { proofs, wanted }
}

describeAnyEngine('the payload of a webhook', (engine) => {
  const hooks = useHooks(engine)
  const { world, hook, rename } = hooks

  const firstCall = async (at: string) => {
    const [call] = await hooks.receiver.told(at, 1)
    if (!call) throw new Error('no call was received')
    return call
  }

  it('is flat in version 1: the record, its account, its kind and what was done', async () => {
    const { at } = await hook(world.acme, { ...ofUsers, version: 'v1' })
    const user = await world.user(world.acme)
    expect((await firstCall(at)).json).toEqual({
      hook_event: 'object',
      id: user.id,
      account_id: world.acme.id,
      type: 'user',
      action: 'doc_created',
    })
  })

  it('holds the record and what is known of it in version 2, without its secrets', async () => {
    const { at } = await hook(world.acme, { ...ofUsers, version: 'v2' })
    const user = await world.user(world.acme, { first_name: 'Vera', pin: '1234' })
    const { json } = await firstCall(at)
    expect(json).toEqual({
      action: 'event',
      name: 'doc_created',
      account_id: world.acme.id,
      timestamp: expect.any(Number),
      data: {
        metadata: { id: user.id, account_id: world.acme.id, type: 'user' },
        doc: expect.objectContaining({ id: user.id, first_name: 'Vera', pin: '***' }),
      },
    })
  })

  it('contains a deleted record as it was in version 2', async () => {
    const deletions = { type: 'user', action: 'doc_deleted' }
    const { at } = await hook(world.acme, { hook: 'object', custom_data: deletions, version: 'v2' })
    const user = await world.user(world.acme, { first_name: 'Vera', pin: '1234' })
    expect(await world.operator.delete(user.path)).toSucceed()
    const doc = expect.objectContaining({ id: user.id, first_name: 'Vera', pin: '***' })
    expect((await firstCall(at)).json).toMatchObject({ name: 'doc_deleted', data: { doc } })
  })

  it('is an event by its type, in both versions, for hooks of event types', async () => {
    const [first, second] = await Promise.all([
      hook(world.acme, { hook: 'user.edited', version: 'v1' }),
      hook(world.acme, { hook: 'user.*', version: 'v2' }),
    ])
    await rename(world.uli, 'Ulrich')
    expect((await firstCall(first.at)).json).toEqual({
      hook_event: 'user.edited',
      id: world.uli.id,
      account_id: world.acme.id,
      type: 'user',
      action: 'doc_edited',
    })
    expect((await firstCall(second.at)).json).toMatchObject({
      action: 'event',
      name: 'user.edited',
      account_id: world.acme.id,
      data: { metadata: { id: world.uli.id }, doc: { first_name: 'Ulrich' } },
    })
  })

  it('is a form unless it is to be JSON, with the keys of inner objects in brackets', async () => {
    const { at } = await hook(world.acme, { ...ofUsers, version: 'v2', format: 'form-data' })
    const user = await world.user(world.acme, { first_name: 'A & B = "C"', flags: ['x', 'y'] })
    const call = await firstCall(at)
    expect(call.method).toBe('POST')
    expect(call.headers['content-type']).toBe('application/x-www-form-urlencoded')
    expect(call.form.get('data[metadata][id]')).toBe(user.id)
    expect(call.form.get('data[doc][first_name]')).toBe('A & B = "C"')
    expect(call.form.getAll('data[doc][flags][]')).toEqual(['x', 'y'])
  })

  it('is sent by PUT where the hook says so', async () => {
    const { at } = await hook(world.acme, { http_verb: 'put' })
    await rename(world.uli, 'Ute')
    const call = await firstCall(at)
    expect([call.method, call.headers['content-type']]).toEqual(['PUT', 'application/json'])
  })

  it('is in the query of a GET, behind the query of the address, and the query is signed', async () => {
    const { at, path } = await hook(world.acme, {
      http_verb: 'get',
      custom_data: { ...ofUsers.custom_data, note: "it's (really) a * !" },
      security_settings: { sha256_key: 'a-key' },
    })
    await world.operator.patch(path, { uri: `${hooks.receiver.url}${at}?own=1#part` })
    await rename(world.uli, 'Uwe')
    const call = await firstCall(at)
    expect([call.method, call.text]).toEqual(['GET', ''])
    expect(call.query.startsWith('own=1&')).toBe(true)
    expect(call.form.get('id')).toBe(world.uli.id)
    expect(call.form.get('note')).toBe("it's (really) a * !")
    const { proofs, wanted } = proofsOf(call, call.query.slice('own=1&'.length), ['a-key'])
    expect(proofs).toEqual(wanted)
  })

  it('names the hook, its account and the event, which is the same when it comes again', async () => {
    const { id, at } = await hook(world.acme, { custom_request_headers: { 'X-Own': 'thing' } })
    await rename(world.uli, 'Una')
    const { headers } = await firstCall(at)
    expect(headers).toMatchObject({ 'x-hook-id': id, 'x-account-id': world.acme.id, 'x-own': 'thing' })
    expect(headers['x-event-id']).toMatch(/^\d{16}$/)
    expect(headers).not.toHaveProperty('x-crosspoint-signature')
  })

  it('is signed with two keys while one takes the place of the other', async () => {
    const { at } = await hook(world.acme, { security_settings: { sha256_key: 'new', previous_key: 'old' } })
    await rename(world.uli, 'Ursula')
    const call = await firstCall(at)
    const { proofs, wanted } = proofsOf(call, call.text, ['new', 'old'])
    expect(proofs).toEqual(wanted)
    expect(wanted).toHaveLength(2)
  })

  it('is proved in the family’s way in version 2: keys sorted at every depth', async () => {
    const { at } = await hook(world.acme, { version: 'v2', security_settings: { sha256_key: 'a-key' } })
    await world.operator.patch(world.uli.path, { first_name: 'Udo', zebra: { b: 1, a: [{ d: 1, c: 2 }] } })
    const { hmac, timestamp, data } = (await firstCall(at)).json
    const sorted = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(sorted)
      if (typeof value !== 'object' || value === null) return value
      return Object.fromEntries(
        Object.entries(value)
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, inner]) => [key, sorted(inner)]),
      )
    }
    const text = `${timestamp}${JSON.stringify(sorted(data))}`
    expect(text).toContain('"zebra":{"a":[{"c":2,"d":1}],"b":1}')
    expect(hmac).toBe(createHmac('sha256', 'a-key').update(text).digest('base64'))
  })

  it('has what custom_data adds, which wins; what only selects is not sent', async () => {
    const { at } = await hook(world.acme, {
      custom_data: { ...ofUsers.custom_data, customer: '17', hook_event: 'mine' },
    })
    await rename(world.uli, 'Uta')
    expect((await firstCall(at)).json).toMatchObject({
      customer: '17',
      hook_event: 'mine',
      type: 'user',
      action: 'doc_edited',
    })
  })

  it('is a call record, flat, for hooks of those', async () => {
    const { at } = await hook(world.acme, { hook: 'cdr' })
    const external = await hook(world.acme, { hook: 'cdr', include_internal_legs: false })
    const everything = await hook(world.acme, { hook: 'all' })
    const arrive = (id: string, record: object) =>
      world.server.store.commit(
        new ChangeSet({ requestId: 'test' }).happened({
          accountId: world.acme.id,
          kind: 'cdr',
          id,
          type: 'cdr.created',
          after: JSON.stringify({ id, ...record }),
        }),
      )
    await arrive('202601-a-loop', { call_id: 'a-loop', channel_is_loopback: true })
    await arrive('202601-a-call', { call_id: 'a-call', duration_seconds: 63 })
    const told = (await hooks.receiver.told(at, 2)).map(({ json }) => json)
    expect(told.map(({ id }) => id).toSorted()).toEqual(['202601-a-call', '202601-a-loop'])
    expect(told.find(({ id }) => id === '202601-a-call')).toMatchObject({
      hook_event: 'cdr',
      id: '202601-a-call',
      account_id: world.acme.id,
      type: 'cdr',
      action: 'created',
      duration_seconds: 63,
    })
    expect((await firstCall(external.at)).json.id).toBe('202601-a-call')
    await rename(world.uli, 'Ulli')
    const calls = await hooks.receiver.told(everything.at, 1)
    expect(calls.map(({ json }) => json.hook_event)).toEqual(['user.edited'])
  })
})
