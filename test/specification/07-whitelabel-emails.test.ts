import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import { nowOf } from '../support/world/legs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const anId = expect.stringMatching(/^[0-9a-f]{32}$/)

describeAnyEngine('The whitelabel email record', (engine) => {
  const world = useWorld(engine)

  let brands = 0

  /** An account with a domain and an address. */
  const branded = async (fields: object = {}) => {
    brands += 1
    const domain = `brand${brands}.test`
    const account = await world.account(world.reseller)
    await world.ross.put(`${account.path}/whitelabel`, { domain })
    const email = `help@${domain}`
    const list = `${account.path}/whitelabel/emails`
    const { body } = await world.ross.put(list, { email, ...fields })
    return { account, domain, email, list, id: String(body.metadata.id), path: `${list}/${body.metadata.id}` }
  }

  const uploadKey = async (path: string) => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
    const body = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const headers = { 'content-type': 'application/x-pem-file' }
    expect(await world.ross.post(path, undefined, { body, headers })).toSucceed()
    return createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).toString('base64')
  }

  it('is email, dkim_selector, id', async () => {
    const { path, email, id } = await branded({ dkim_selector: 'mail' })
    expect(await world.ross.get(path)).toSucceedWith({ id, email, dkim_selector: 'mail' })
  })

  it.each([
    ['email: string, the sender address', { email: 5 }, { email: ['type'] }],
    ['email: an address', { email: 'nobody' }, { email: ['wrong_format'] }],
    ['dkim_selector: string', { dkim_selector: 5 }, { dkim_selector: ['type'] }],
    ['dkim_selector: part of a host name', { dkim_selector: 'two words' }, { dkim_selector: ['pattern'] }],
  ])('%s', async (_row, wrong, rules) => {
    const { path } = await branded()
    expect(await world.unchanged(() => world.ross.post(path, wrong))).toBreak(rules)
  })

  it('has metadata: id, created, modified, verified', async () => {
    const { path, id } = await branded()
    expect((await world.ross.get(path)).body.metadata).toEqual({
      id: anId,
      created: nowOf(world),
      modified: nowOf(world),
      verified: false,
    })
    world.clock.advance({ minutes: 1 })
    const { metadata } = (await world.ross.post(path, { dkim_selector: 'mail' })).body
    expect(metadata).toEqual({ id, created: nowOf(world) - 60, modified: nowOf(world), verified: false })
  })

  it('has metadata: deleted, after it is deleted', async () => {
    const { path } = await branded()
    expect((await world.ross.get(path)).body.metadata).not.toHaveProperty('deleted')
    expect((await world.ross.delete(path)).body.metadata.deleted).toBe(true)
  })

  it('has a DKIM TXT record named <selector>._domainkey.<domain>, of the whitelabel domain', async () => {
    const { account, domain, path } = await branded({ dkim_selector: 'mail' })
    await uploadKey(path)
    const answer = await world.ross.post(`${account.path}/whitelabel/domains`)
    expect(answer.body.metadata.senders).toMatchObject([{ dkim: { name: `mail._domainkey.${domain}` } }])
  })

  it('has a DKIM TXT record with the content v=DKIM1; p=<public key>', async () => {
    const { path } = await branded()
    const publicKey = await uploadKey(path)
    expect((await world.ross.get(path)).body.metadata.dkim).toEqual({
      key_type: 'rsa',
      key_bits: 1024,
      record: `v=DKIM1; p=${publicKey}`,
    })
  })

  it('is seen by people of the account, changed by its admins', async () => {
    const { account, path } = await branded()
    const user = await world.user(account)
    expect(await user.get(path)).toSucceed()
    await world.unchanged(async () => {
      expect(await user.post(path, { dkim_selector: 'mail' })).toFailWith(403, 'forbidden')
      expect(await world.rex.get(path)).toFailWith(403, 'forbidden')
    })
  })
})
