// The keys that tokens are signed with.
import { createPublicKey, verify } from 'node:crypto'
import { expect, it } from 'vitest'
import { notForCaller } from '../support/matchers/refusals.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const headOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as Record<string, string>

describeAnyEngine('signing keys', (engine) => {
  const world = useWorld(engine)
  const isAlive = async (token: string) =>
    (await world.clientWithToken(token).get('/v2/token_auth')).status === 200

  it('verify tokens, and may be read by admins', async () => {
    const { kid = '' } = headOf(world.ada.token)
    expect(kid).toMatch(/^[0-9a-f]{32}$/)
    expect((await world.ada.get('/v2/auth/keys')).data).toContainEqual({ id: kid })
    const path = `/v2/auth/keys/${kid}`
    const pem = (await world.ada.get(path, { headers: { accept: 'application/x-pem-file' } })).text
    expect(await world.ada.get(path)).toSucceedWith({ id: kid, public_key_pem: pem })
    const [head, body, signature = ''] = world.ada.token.split('.')
    const signed = Buffer.from(`${head}.${body}`)
    expect(verify('RSA-SHA256', signed, createPublicKey(pem), Buffer.from(signature, 'base64url'))).toBe(true)
  })

  it('can be read by operators only', async () => {
    const path = '/v2/auth/keys'
    for (const caller of [world.uli, world.acmeKey]) {
      expect(await caller.get(path)).toFailWith(403, 'forbidden', notForCaller)
      expect(await caller.get(`${path}/${headOf(world.ada.token).kid}`)).toFailWith(
        403,
        'forbidden',
        notForCaller,
      )
    }
    expect(await world.anonymous.get(path)).toFailWith(401, 'invalid_credentials')
    expect(await world.ada.get(`${path}/${'0'.repeat(32)}`)).toFailWith(404, 'bad_identifier')
  })

  it('are replaced by a new one on request of the operator; older ones stay valid', async () => {
    const path = `/v2/auth/keys/${headOf(world.ada.token).kid}`
    const change = { envelope: { action: 'reset_private_key' } }
    expect(await world.operator.put(path, {})).toFailWith(400, 'action required', {})
    await world.unchanged(async () => {
      expect(await world.ada.put(path, {}, change)).toFailWith(403, 'forbidden', notForCaller)
    })
    const before: { id: string }[] = (await world.ada.get('/v2/auth/keys')).data
    expect(before).toHaveLength(1)
    const made = await world.operator.put(path, {}, change)
    expect(made).toSucceedWith({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      public_key_pem: expect.stringContaining('BEGIN PUBLIC KEY'),
    })
    const after: { id: string }[] = (await world.ada.get('/v2/auth/keys')).data
    expect(after.map(({ id }) => id).sort()).toEqual([...before.map(({ id }) => id), made.data.id].sort())
    const token = await world.tokenOf(world.acme, world.ada.id)
    expect(headOf(token).kid).toBe(made.data.id)
    expect(made.data.id).not.toBe(headOf(world.ada.token).kid)
    expect([await isAlive(token), await isAlive(world.ada.token)]).toEqual([true, true])
  })
})
