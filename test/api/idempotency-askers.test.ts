// Only the caller that sent an Idempotency-Key can use it, and the answer that is stored under it contains no
// token.
import { expect, it } from 'vitest'
import { createKeyring, readServerKey } from '../../src/auth/keyring.ts'
import type { Json } from '../../src/lib/json.ts'
import { basicHeader, type Client, type RequestOptions } from '../support/world/client.ts'
import { credentialsOf, describeEngines, useWorld } from '../support/world/world.ts'

describeEngines('an Idempotency-Key belongs to its caller,', (engine) => {
  const world = useWorld(engine)

  let keys = 0
  const freshKey = () => `key-${++keys}`
  const customer = () => world.account(world.reseller)

  const named: Json = { first_name: 'One', last_name: 'Time' }

  const keyed = (key: string): RequestOptions => ({ headers: { 'idempotency-key': key } })

  it('so that the same key of another user is another request', async () => {
    const { path } = await customer()
    const colleague = await world.admin(world.reseller)
    const key = freshKey()
    const first = await world.ross.put(`${path}/users`, named, keyed(key))
    const second = await colleague.put(`${path}/users`, named, keyed(key))
    expect(second.status).toBe(201)
    expect(second.data.id).not.toBe(first.data.id)
    expect(second.headers['idempotent-replayed']).toBeUndefined()
    expect(second.text).not.toContain(world.ross.token)
    const again = await world.ross.put(`${path}/users`, named, keyed(key))
    expect(again.text).toBe(first.text)
  })

  it('so that one user has different requests by token and by Basic credentials', async () => {
    const { path } = await customer()
    const key = freshKey()
    const basic = world.anonymous.with(basicHeader(world.reseller.id, credentialsOf('ross', 'ross-secret')))
    const first = await world.ross.put(`${path}/users`, named, keyed(key))
    const second = await basic.put(`${path}/users`, named, keyed(key))
    const third = await basic.put(`${path}/users`, named, keyed(key))
    expect(second.data.id).not.toBe(first.data.id)
    expect(third.text).toBe(second.text)
    expect(third.body.auth_token).toBeUndefined()
  })

  it('and the repeated answer has the token of the new request, not of the first one', async () => {
    const { path } = await customer()
    const key = freshKey()
    const other = world.anonymous.with({ 'x-auth-token': await world.tokenOf(world.reseller, world.ross.id) })
    const first = await world.ross.put(`${path}/users`, named, keyed(key))
    const again = await other.put(`${path}/users`, named, keyed(key))
    expect(first.body.auth_token).toBe(world.ross.token)
    expect(again.body).toEqual({ ...first.body, auth_token: again.body.auth_token })
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(again.text).not.toContain(world.ross.token)
    const pretty = await other.put(`${path}/users`, named, {
      headers: { 'idempotency-key': key, 'x-pretty-print': 'true' },
    })
    expect(pretty.text).toContain('\n  "data": {')
    expect(pretty.body).toEqual(again.body)
  })

  it('and the stored answer contains no token', async () => {
    const { path } = await customer()
    const key = freshKey()
    await world.ross.put(`${path}/users`, named, keyed(key))
    const [row] = await world.server.store.all(
      'SELECT account_id, asker, answer FROM idempotency_keys WHERE idem_key = $1',
      [key],
    )
    const keyring = createKeyring(readServerKey(world.place.dataDir) as Buffer)
    const kept = keyring.open(String(row?.answer), `idempotency/${row?.account_id}/${row?.asker}/${key}`)
    expect(kept).toContain('tokenAt')
    expect(kept).not.toContain(world.ross.token)
    expect(kept).not.toContain('auth_token')
  })

  it('and is ignored where the answer is a token or secret: each request makes a new one', async () => {
    const login = { credentials: credentialsOf('ross', 'ross-secret'), account_name: 'Reseller' }
    const { path, id } = await customer()
    const user = (await world.ross.put(`${path}/users`, named)).data.id
    const key = world.server.areas.accounts.apiKeyOf(await world.server.areas.accounts.get(id))
    const asked: [Client, string, Json][] = [
      [world.ross, '/v2/user_auth', login],
      [world.ross, '/v2/api_auth', { api_key: key }],
      [world.ross, '/v2/auth', { action: 'refresh_token' }],
      [world.operator, `${path}/users/${user}/user_auth`, { action: 'impersonate_user' }],
      [world.ross, `${path}/api_key`, {}],
      [world.ross, `${path}/api_keys`, { name: 'A key', scopes: ['*'] }],
    ]
    for (const [client, where, data] of asked) {
      const options = keyed(freshKey())
      const [one, other] = [await client.put(where, data, options), await client.put(where, data, options)]
      expect([one.status, other.status]).toEqual([201, 201])
      expect(other.headers['idempotent-replayed']).toBeUndefined()
      const told = [one, other].map(({ data, body }) => data.api_key ?? data.key ?? body.auth_token)
      expect(told[0]).not.toBe(told[1])
    }
  })
})
