// User names and passwords of users.
import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { createUserStore } from '../../src/areas/accounts/users/store.ts'
import { derive, hashingOfDigest } from '../../src/auth/credentials.ts'
import type { Json } from '../../src/lib/json.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { credentialsOf, describeAnyEngine, quickLayers, useWorld } from '../support/world/world.ts'

const name = { first_name: 'A', last_name: 'B' }

describeAnyEngine('passwords', (engine) => {
  const world = useWorld(engine)
  const users = () => `${world.acme.path}/users`

  const signIn = async (username: string, password: string, method: 'md5' | 'sha' = 'md5') => {
    const credentials = credentialsOf(username, password, method === 'md5' ? 'md5' : 'sha1')
    const answer = await world.anonymous.put('/v2/user_auth', {
      credentials,
      method,
      account_realm: 'acme.test',
    })
    return answer.status
  }

  it('sign their user in, by either digest', async () => {
    const user = await world.user(world.acme, { username: 'Pass.Word', password: 'first-secret' })
    expect(user.username).toBe('pass.word')
    expect(await signIn('Pass.Word', 'first-secret')).toBe(201)
    expect(await signIn('pass.word', 'first-secret', 'sha')).toBe(201)
    expect(await signIn('pass.word', 'First-secret')).toBe(401)
  })

  it('may hold any character', async () => {
    const password = 'pä:ss wörd 🦄'
    await world.user(world.acme, { username: 'unicode', password })
    expect(await signIn('unicode', password)).toBe(201)
  })

  it('stand nowhere, nor their digests', async () => {
    const password = 'nowhere-to-be-seen'
    const user = await world.user(world.acme, { username: 'hidden.one', password })
    const digests = [credentialsOf('hidden.one', password), credentialsOf('hidden.one', password, 'sha1')]
    const bare = ['md5', 'sha1', 'sha256'].map((algorithm) =>
      createHash(algorithm).update(password).digest('hex'),
    )
    const tables = ['records', 'claims', 'audit_log']
    const stored = await Promise.all(tables.map((table) => world.server.store.all(`SELECT * FROM ${table}`)))
    const everything = JSON.stringify([stored, (await world.ada.get(user.path)).body, world.logEntries])
    for (const secret of [password, ...digests, ...bare]) expect(everything).not.toContain(secret)
  })

  it('that are empty change nothing, and their digest is not accepted', async () => {
    const user = await world.user(world.acme, { username: 'form.filler', password: 'first-secret' })
    const sent = { ...name, username: 'form.filler' }
    expect(await world.ada.post(user.path, sent)).toSucceed()
    const stored = async () => {
      const { doc, hidden } = await world.server.areas.users.get(world.acme.id, user.id)
      return { doc, hidden }
    }
    const before = await stored()
    for (const secrets of [{ password: '' }, { credentials: '' }, { password: '', credentials: '' }]) {
      expect(await world.ada.patch(user.path, { ...name, ...secrets })).toSucceed()
      expect(await world.ada.post(user.path, { ...sent, ...secrets })).toSucceed()
      expect(await stored()).toEqual(before)
    }
    expect(await signIn('form.filler', 'first-secret')).toBe(201)
    const made = await world.ada.put(users(), { ...name, username: 'form.maker', password: '' })
    expect(made).toSucceed()
    expect((await world.server.areas.users.get(world.acme.id, made.data.id)).hidden.signInKeys).toEqual([])
    const empty = credentialsOf('form.filler', '')
    for (const credentials of [empty, empty.toUpperCase()])
      expect(await world.refused(() => world.ada.patch(user.path, { credentials }))).toBreak({
        credentials: ['insecure'],
      })
    const named = { ...name, username: 'form.other', credentials: credentialsOf('form.other', '') }
    expect(await world.refused(() => world.ada.put(users(), named))).toBreak({ credentials: ['insecure'] })
    const renamed = await world.refused(() =>
      world.ada.patch(user.path, { username: 'form.renamed', password: '' }),
    )
    expect(renamed).toBreak({ password: ['required'] })
  })

  it('that are empty do not sign in, even if an older version stored their keys', async () => {
    const user = await world.user(world.acme, { username: 'empty.one', password: 'first-secret' })
    const { store, areas } = world.server
    const { signInSalt } = (await areas.accounts.get(world.acme.id)).hidden
    const storeKeysOf = async (password: string) => {
      const signInKeys = (['md5', 'sha'] as const).map((method) => {
        const digest = credentialsOf('empty.one', password, method === 'md5' ? 'md5' : 'sha1')
        return derive(hashingOfDigest(signInSalt, method, digest), quickLayers)[0] ?? ''
      })
      const collection = createUserStore(store)
      const record = await collection.get(world.acme.id, user.id)
      const set = new ChangeSet({ requestId: 'test' })
      const hidden = { ...record.hidden, signInKeys }
      collection.replace(set, record, collection.revise(record, { hidden }))
      await store.commit(set)
    }
    const withBasic = async (password: string) => {
      const text = `${world.acme.id}:${credentialsOf('empty.one', password)}`
      const authorization = `Basic ${Buffer.from(text).toString('base64')}`
      return (await world.anonymous.with({ authorization }).get(user.path)).status
    }
    await storeKeysOf('other-secret')
    expect([
      await signIn('empty.one', 'other-secret'),
      await signIn('empty.one', 'other-secret', 'sha'),
    ]).toEqual([201, 201])
    expect(await withBasic('other-secret')).toBe(200)
    await storeKeysOf('')
    expect([await signIn('empty.one', ''), await signIn('empty.one', '', 'sha')]).toEqual([401, 401])
    expect(await withBasic('')).toBe(401)
  })

  it('are asked for when the user name changes', async () => {
    const user = await world.user(world.acme, { username: 'before', password: 'same-secret' })
    const alone = await world.unchanged(() => world.ada.patch(user.path, { username: 'after' }))
    expect(alone).toFailWith(400, 'validation error', {
      password: { required: { message: expect.any(String), cause: 'after' } },
    })
    expect(await world.ada.patch(user.path, { username: 'after', password: 'same-secret' })).toSucceed()
    expect(await signIn('after', 'same-secret')).toBe(201)
    expect(await signIn('before', 'same-secret')).toBe(401)
  })

  it('are kept while the user name stays', async () => {
    const user = await world.user(world.acme, { username: 'stays', password: 'kept-secret' })
    expect(await world.ada.post(user.path, { ...name, username: 'Stays' })).toSucceed()
    expect(await world.ada.patch(user.path, { note: 'x' })).toSucceed()
    expect(await signIn('stays', 'kept-secret')).toBe(201)
  })

  it('end with the user name', async () => {
    const user = await world.user(world.acme, { username: 'nameless', password: 'lost-secret' })
    expect(await world.ada.post(user.path, name)).toSucceed()
    expect(await signIn('nameless', 'lost-secret')).toBe(401)
    expect(await signIn('', 'lost-secret')).toBe(401)
  })

  it('get a generated user name, unless the operator requires one', async () => {
    const made = await world.ada.put(users(), { ...name, password: 'generated' })
    expect(made.data.username).toMatch(/^user_[0-9a-f]{16}$/)
    expect(await signIn(made.data.username, 'generated')).toBe(201)
    await world.configure('crossbar.auth', { generate_username_if_empty: false })
    const refused = await world.unchanged(() => world.ada.put(users(), { ...name, password: 'generated' }))
    expect(refused).toBreak({ username: ['required'] })
    await world.configure('crossbar.auth', { generate_username_if_empty: true })
  })

  it('may come as a ready digest, which is md5', async () => {
    const credentials = credentialsOf('digested', 'ready-made').toUpperCase()
    const made = await world.ada.put(users(), { ...name, username: 'digested', credentials })
    expect(made).toSucceed()
    expect(made.data).not.toHaveProperty('credentials')
    expect(await signIn('digested', 'ready-made')).toBe(201)
    expect(await signIn('digested', 'ready-made', 'sha')).toBe(401)
  })

  it('that change end the tokens of the user, unless the operator keeps them', async () => {
    const user = await world.user(world.acme, { username: 'changer', password: 'old-secret' })
    expect(await user.get(user.path)).toSucceed()
    const changed = await world.ada.patch(user.path, { password: 'new-secret' })
    expect(changed).toSucceed()
    expect(await user.get(user.path)).toFailWith(401, 'invalid_credentials', {
      message: 'invalid credentials',
    })
    expect(await signIn('changer', 'old-secret')).toBe(401)
    expect(await signIn('changer', 'new-secret')).toBe(201)
    const later = world.clientWithToken(await world.tokenOf(world.acme, user.id))
    await world.configure('crossbar.auth', { reset_identity_secret_on_rehash: false })
    await world.ada.patch(user.path, { password: 'third-secret' })
    expect(await later.get(user.path)).toSucceed()
    await world.configure('crossbar.auth', { reset_identity_secret_on_rehash: true })
  })

  it('are alike in different accounts without showing it', async () => {
    const data: Json = { username: 'twin', password: 'alike-secret' }
    const [a, b] = await Promise.all([world.user(world.acme, data), world.user(world.rival, data)])
    const rows = (await world.snapshot()).records ?? []
    const keysOf = (id: string) => rows.find((row) => row.includes(`"id":"${id}"`))?.match(/md5:[\w-]+/)?.[0]
    expect(keysOf(a.id)).toMatch(/^md5:[\w-]{32}$/)
    expect(keysOf(b.id)).toMatch(/^md5:[\w-]{32}$/)
    expect(keysOf(a.id)).not.toBe(keysOf(b.id))
  })
})
