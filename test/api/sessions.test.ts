// Reference 01 section 2.2: what tokens say, how they end, and the keys they are signed with.
import { createPublicKey, verify } from 'node:crypto'
import { expect, it } from 'vitest'
import { describeEngines, useWorld } from '../support/world.ts'

const reset = { envelope: { action: 'reset_signature_secret' } }
const forbidden = { message: 'forbidden' }

describeEngines('sessions', (engine) => {
  const world = useWorld(engine)
  const isAlive = async (token: string) =>
    (await world.clientWithToken(token).get('/v2/token_auth')).status === 200

  it('cannot be inspected without a token, nor with something else', async () => {
    expect(await world.anonymous.get('/v2/auth/tokeninfo')).toFailWith(404, 'missing token in params')
    expect(await world.anonymous.post('/v2/auth/tokeninfo', {})).toFailWith(404, 'missing token in request')
    expect(await world.anonymous.get('/v2/auth/tokeninfo?token=garbage')).toFailWith(
      401,
      'invalid credentials',
    )
  })

  it('of a user end when the user says so, not when another says so', async () => {
    const [one, other] = [await world.user(world.acme), await world.user(world.acme)]
    await world.unchanged(async () => {
      expect(await other.put(`${one.path}/auth`, {}, reset)).toFailWith(403, 'forbidden', forbidden)
      expect(await world.rex.put(`${one.path}/auth`, {}, reset)).toFailWith(403, 'forbidden', forbidden)
    })
    expect(await isAlive(one.token)).toBe(true)
    expect(await one.put(`${one.path}/auth`, {}, reset)).toSucceedWith({})
    expect(await isAlive(one.token)).toBe(false)
    expect(await isAlive(other.token)).toBe(true)
    expect(await world.ada.put(`${other.path}/auth`, {}, reset)).toSucceedWith({})
    expect(await isAlive(other.token)).toBe(false)
  })

  it('of an account end together', async () => {
    const account = await world.account()
    const [admin, user] = [await world.admin(account), await world.user(account)]
    expect(await user.put(`${account.path}/auth`, {}, reset)).toFailWith(403, 'forbidden', forbidden)
    expect(await admin.put(`${account.path}/auth`, {}, reset)).toSucceedWith({})
    expect([await isAlive(admin.token), await isAlive(user.token)]).toEqual([false, false])
    expect(await isAlive(world.ada.token)).toBe(true)
  })

  it('are signed with keys that admins may read', async () => {
    const [row, ...others] = (await world.ada.get('/v2/auth/keys')).data
    expect(others).toEqual([])
    expect(row).toEqual({ id: expect.stringMatching(/^[0-9a-f]{32}$/) })
    const path = `/v2/auth/keys/${row.id}`
    const pem = (await world.ada.get(path, { headers: { accept: 'application/x-pem-file' } })).text
    expect(await world.ada.get(path)).toSucceedWith({ id: row.id, public_key_pem: pem })
    const [head, body, signature = ''] = world.ada.token.split('.')
    const signed = Buffer.from(`${head}.${body}`)
    const bytes = Buffer.from(signature, 'base64url')
    expect(verify('RSA-SHA256', signed, createPublicKey(pem), bytes)).toBe(true)
    expect(JSON.parse(Buffer.from(head ?? '', 'base64url').toString())).toMatchObject({ kid: row.id })
    for (const caller of [world.uli, world.acmeKey]) {
      expect(await caller.get('/v2/auth/keys')).toFailWith(403, 'forbidden', forbidden)
      expect(await caller.get(path)).toFailWith(403, 'forbidden', forbidden)
    }
    expect(await world.ada.get(`/v2/auth/keys/${'0'.repeat(32)}`)).toFailWith(404, 'bad_identifier')
  })

  it('are signed with a new key once the operator says so; older ones go on', async () => {
    const [row] = (await world.operator.get('/v2/auth/keys')).data
    const path = `/v2/auth/keys/${row.id}`
    const change = { envelope: { action: 'reset_private_key' } }
    expect(await world.operator.put(path, {})).toFailWith(400, 'action required', {})
    await world.unchanged(async () => {
      expect(await world.ada.put(path, {}, change)).toFailWith(403, 'forbidden', forbidden)
    })
    const made = await world.operator.put(path, {}, change)
    expect(made).toSucceedWith({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      public_key_pem: expect.stringContaining('BEGIN PUBLIC KEY'),
    })
    expect(made.data.id).not.toBe(row.id)
    const token = await world.tokenOf(world.acme, world.ada.id)
    expect(JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString())).toMatchObject({
      kid: made.data.id,
    })
    expect([await isAlive(token), await isAlive(world.ada.token)]).toEqual([true, true])
  })
})
