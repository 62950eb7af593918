// One token is one text: what was ended does not come back in another spelling.
import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { createCollection } from '../../src/storage/collection.ts'
import { basicHeader } from '../support/world/client.ts'
import { credentialsOf, describeAnyEngine, useWorld } from '../support/world/world.ts'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** The same bytes with an unused bit of the last letter set. */
const withSpareBit = (part: string) => {
  const spare = part.length % 4 === 2 || part.length % 4 === 3
  if (!spare) throw new Error('the part has no unused bits')
  return part.slice(0, -1) + alphabet[alphabet.indexOf(part.slice(-1)) + 1]
}

const partsOf = (token: string) => token.split('.') as [string, string, string]

const respellings: Readonly<Record<string, (token: string) => string>> = {
  'an unused bit of the signature set': (token) => {
    const [head, claims, signature] = partsOf(token)
    return [head, claims, withSpareBit(signature)].join('.')
  },
  'padding behind the signature': (token) => `${token}==`,
  'the other alphabet': (token) => {
    const [head, claims, signature] = partsOf(token)
    return [head, claims, signature.replaceAll('-', '+').replaceAll('_', '/')].join('.')
  },
  'a blank in the signature': (token) => `${token.slice(0, -4)} ${token.slice(-4)}`,
  'a dot at the end': (token) => `${token}.`,
}

const byTextDefinition = { kind: 'revoked_token', sortKey: (_doc: object, id: string) => id, row: () => ({}) }

describeAnyEngine('tokens', (engine) => {
  const world = useWorld(engine)

  /** A user whose token has letters that differ between the alphabets. */
  const somebody = async () => {
    const account = await world.account()
    const { id, path } = await world.user(account)
    for (;;) {
      const token = await world.tokenOf(account, id)
      const [, , signature] = partsOf(token)
      if (/[-_]/.test(signature)) return { account, path, token }
    }
  }

  it('are taken in their one spelling only', async () => {
    const { path, token } = await somebody()
    expect(await world.clientWithToken(token).get(path)).toSucceed()
    for (const [name, respelled] of Object.entries(respellings)) {
      const other = respelled(token)
      expect(other, name).not.toBe(token)
      const answer = await world.anonymous.get(path, { query: { auth_token: other } })
      expect([name, answer.status]).toEqual([name, 401])
    }
  })

  it('stay ended whatever their spelling', async () => {
    const { path, token } = await somebody()
    expect(await world.clientWithToken(token).delete('/v2/token_auth')).toSucceed()
    for (const text of [token, ...Object.values(respellings).map((respelled) => respelled(token))]) {
      expect((await world.anonymous.get(path, { query: { auth_token: text } })).status).toBe(401)
    }
  })

  it('stay ended when that was noted by a digest of their text', async () => {
    const { account, path, token } = await somebody()
    const revocations = createCollection<object, object>(world.server.store, byTextDefinition)
    const digest = createHash('sha256').update(token).digest('hex').slice(0, 32)
    const set = new ChangeSet({ requestId: 'test' })
    revocations.insert(set, revocations.draft(account.id, { doc: {}, hidden: {} }, digest))
    await world.server.store.commit(set)
    expect(await world.clientWithToken(token).get(path)).toFailWith(401, 'invalid_credentials', {
      message: 'invalid credentials',
    })
  })
})

describeAnyEngine('a disabled account', (engine) => {
  const world = useWorld(engine)
  const disabled = (id: string) => ({ account: { disabled: { message: 'account disabled', cause: id } } })

  it('disables users who signed in below it, until it is enabled again', async () => {
    const reseller = await world.account()
    const customer = await world.account(reseller)
    const password = 'her-secret'
    const person = await world.user(customer, { username: 'pat', password })
    const key = await world.keyHolder(customer)
    const login = { credentials: credentialsOf('pat', password), account_realm: customer.realm }
    const basic = world.client(basicHeader(customer.id, login.credentials))
    expect(await basic.get(customer.path)).toSucceed()
    await world.operator.patch(reseller.path, { enabled: false })
    const attempts = [
      () => person.get(customer.path),
      () => key.get(customer.path),
      () => basic.get(customer.path),
      () => world.anonymous.put('/v2/user_auth', login),
      () => world.operator.put(`${person.path}/user_auth`, {}, { envelope: { action: 'impersonate_user' } }),
    ]
    for (const attempt of attempts) {
      expect(await world.unchanged(attempt)).toFailWith(400, 'validation error', disabled(reseller.id))
    }
    expect(await world.operator.get(customer.path)).toSucceed()
    await world.operator.patch(reseller.path, { enabled: true })
    expect(await person.get(customer.path)).toSucceed()
    expect(await basic.get(customer.path)).toSucceed()
  })

  it('is never the master account', async () => {
    const equal = await world.account()
    await world.operator.patch(equal.path, { superduper_admin: true })
    const admin = await world.admin(equal)
    expect(await admin.patch(world.master.path, { enabled: false })).toSucceed()
    expect((await world.operator.get(world.master.path)).data).toMatchObject({ enabled: true })
    await world.operator.patch(equal.path, { superduper_admin: false })
  })
})

describeAnyEngine('Basic credentials', (engine) => {
  const world = useWorld(engine)
  const denied = { message: 'forbidden', cause: 'access denied by token restrictions' }

  const place = async () => {
    const account = await world.account()
    const person = await world.user(account, { username: 'pia', password: 'pia-secret' })
    const basic = world.client(basicHeader(account.id, credentialsOf('pia', 'pia-secret')))
    const restrict = (restrictions: object) =>
      world.operator.post(`${account.path}/token_restrictions`, { restrictions })
    return { account, person, basic, restrict }
  }

  it("are bound by what binds the same user's token", async () => {
    const { account, person, basic, restrict } = await place()
    await restrict({ cb_user_auth: { user: { accounts: [{ rules: { '*': ['GET'] } }] } } })
    for (const caller of [person, basic]) {
      expect(await caller.get(account.path)).toSucceed()
      const refused = await world.unchanged(() => caller.patch(account.path, { name: 'Mine' }))
      expect(refused).toFailWith(403, 'forbidden', denied)
    }
  })

  it('may be narrowed further by separate rules, not widened', async () => {
    const { account, person, basic, restrict } = await place()
    const reading = { user: { accounts: [{ rules: { '*': ['GET'] } }] } }
    await restrict({ cb_user_auth: reading, cb_basic_auth: { user: { _: [{ rules: { '#': ['_'] } }] } } })
    expect(await basic.get(account.path)).toSucceed()
    expect(await basic.patch(account.path, { name: 'Mine' })).toFailWith(403, 'forbidden', denied)
    await restrict({ cb_user_auth: reading, cb_basic_auth: { user: { _: [{ rules: {} }] } } })
    expect(await basic.get(account.path)).toFailWith(403, 'forbidden', denied)
    expect(await person.get(account.path)).toSucceed()
  })
})
