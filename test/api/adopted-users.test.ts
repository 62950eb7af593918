// Imported users and phones of another system, unchanged.
import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import type { UserFacts } from '../../src/areas/accounts/users/adoption.ts'
import type { ImportedFile } from '../../src/areas/adoption.ts'
import type { Json } from '../../src/lib/json.ts'
import { type Arriving, createTaker, once } from '../support/kazoo/adopting.ts'
import { credentialsOf, describeEngines, useWorld } from '../support/world/world.ts'

const png = Buffer.from('iVBORw0KGgoAAAANSUhEUg==', 'base64')

describeEngines('adopted users', (engine) => {
  const taker = createTaker()
  const world = useWorld(engine, undefined, undefined, { more: [taker.area] })
  let made = 0
  const nextId = () => {
    made += 1
    return String(made).padStart(32, '0')
  }

  /** Number of keys derived for imported users. */
  const derivations = async () => {
    const { text } = await world.anonymous.get('/metrics')
    return Number(/password_hash_duration_seconds_count\{priority="background"\} (\d+)/.exec(text)?.[1] ?? 0)
  }

  const user = (accountId: string, username: string | undefined, more: Partial<Arriving> = {}): Arriving => ({
    as: 'user',
    accountId,
    id: nextId(),
    ...more,
    doc: {
      first_name: 'Ann',
      last_name: 'Li',
      enabled: true,
      ...(username === undefined ? {} : { username }),
      ...more.doc,
    },
  })

  /** The password digests that Kazoo stores, over the user name as it was then, including capitals. */
  const digestsOf = (username: string, password: string): UserFacts['digests'] => ({
    md5: createHash('md5').update(`${username}:${password}`).digest('hex'),
    sha: createHash('sha1').update(`${username}:${password}`).digest('hex'),
  })

  const signIn = (accountName: string, credentials: string, method: 'md5' | 'sha' = 'md5') =>
    world.anonymous.put('/v2/user_auth', { credentials, method, account_name: accountName })

  it('keep their ids, times and fields, and sign in with the passwords they had', async () => {
    const account = await world.account(world.acme)
    const digests = digestsOf('ann', 'pä:ss')
    const ann = user(account.id, 'ann', {
      doc: { priv_level: 'admin', email: 'ann@acme.example', shoe: 45 },
      facts: { digests, passwordChanged: once },
      files: [{ role: 'photo', contentType: 'application/octet-stream', bytes: png }],
    })
    expect(await taker.take(world, ann)).toEqual([true])
    expect(await world.unchanged(() => taker.take(world, ann))).toEqual([false])
    const path = `${account.path}/users/${ann.id}`
    const answer = await world.ada.get(path)
    expect(answer).toSucceedWith({
      id: ann.id,
      first_name: 'Ann',
      last_name: 'Li',
      username: 'ann',
      email: 'ann@acme.example',
      priv_level: 'admin',
      enabled: true,
      shoe: 45,
      has_avatar: true,
    })
    expect(answer.body.metadata).toEqual({
      id: ann.id,
      created: once,
      modified: once + 1,
      is_password_expired: false,
    })
    for (const method of ['md5', 'sha'] as const) {
      const algorithm = method === 'md5' ? 'md5' : 'sha1'
      const signedIn = await signIn(account.name, credentialsOf('ann', 'pä:ss', algorithm), method)
      expect(signedIn).toSucceedWith(expect.objectContaining({ account_id: account.id, owner_id: ann.id }))
    }
    expect((await signIn(account.name, credentialsOf('ann', 'other'))).status).toBe(401)
    const photo = await world.ada.get(`${path}/photo`, { headers: { accept: 'image/png' } })
    expect(photo.status).toBe(200)
    const stored = await world.server.areas.users.get(account.id, ann.id)
    const kept = JSON.stringify([stored.docText, stored.hiddenText, stored.rowText])
    for (const digest of Object.values(digests ?? {})) expect(kept).not.toContain(digest)
    expect(stored.hidden.signInKeys.map((key) => key.split(':')[0])).toEqual(['md5', 'sha'])
  })

  it('have their keys strengthened by the migration, and sign in before and after', async () => {
    const account = await world.account(world.acme)
    const ann = user(account.id, 'ann', { facts: { digests: digestsOf('ann', 'secret-word') } })
    await taker.take(world, ann)
    const migration = `${account.path}/migrations/derive_sign_in_secrets`
    expect((await world.operator.post(migration, { perform_migration: 'now' })).status).toBe(200)
    const keysOf = async () => (await world.server.areas.users.get(account.id, ann.id)).hidden.signInKeys
    const strengthened = await keysOf()
    expect(strengthened.map((key) => key.split(':').slice(0, 2).join())).toEqual(['2,md5', '2,sha'])
    const changed = { ...ann, doc: { ...ann.doc, shoe: 46 } }
    expect(await taker.take(world, changed)).toEqual([true])
    expect(await keysOf()).toEqual(strengthened)
    expect((await signIn(account.name, credentialsOf('ann', 'secret-word'))).status).toBe(201)
    // The keys that replace strong keys are as strong.
    await taker.take(world, { ...changed, facts: { digests: digestsOf('ann', 'other-word') } })
    expect((await keysOf()).map((key) => key.split(':')[0])).toEqual(['2', '2'])
    expect((await signIn(account.name, credentialsOf('ann', 'other-word'))).status).toBe(201)
  })

  it('are derived once while their passwords stay, and lose their sessions with a new one', async () => {
    const account = await world.account(world.acme)
    const digests = digestsOf('ann', 'first')
    const ann = user(account.id, 'ann', { facts: { digests } })
    await taker.take(world, ann)
    const before = await world.server.areas.users.get(account.id, ann.id)
    const derived = await derivations()
    await taker.take(world, { ...ann, doc: { ...ann.doc, shoe: 46 } })
    expect(derived).toBeGreaterThan(0)
    expect(await derivations()).toBe(derived)
    const same = await world.server.areas.users.get(account.id, ann.id)
    expect([same.doc.shoe, same.hidden]).toEqual([46, before.hidden])
    await taker.take(world, { ...ann, facts: { digests: digestsOf('ann', 'second') } })
    const after = await world.server.areas.users.get(account.id, ann.id)
    expect(after.hidden.signatureSecret).not.toBe(before.hidden.signatureSecret)
    expect((await signIn(account.name, credentialsOf('ann', 'first'))).status).toBe(401)
    expect((await signIn(account.name, credentialsOf('ann', 'second'))).status).toBe(201)
    await taker.take(world, { ...ann, facts: {} })
    expect((await signIn(account.name, credentialsOf('ann', 'second'))).status).toBe(401)
  })

  it('sign in with an md5 digest alone where there is no other, and with the name as it was digested', async () => {
    const account = await world.account(world.acme)
    const md5 = createHash('md5').update('Bob:secret').digest('hex')
    const bob = user(account.id, 'bob', { facts: { digests: { md5 } } })
    await taker.take(world, bob)
    expect((await signIn(account.name, md5)).status).toBe(201)
    const sha = createHash('sha1').update('Bob:secret').digest('hex')
    expect((await signIn(account.name, sha, 'sha')).status).toBe(401)
  })

  it('take the user name of an existing user, who can still sign in', async () => {
    const account = await world.account(world.acme)
    const here = await world.admin(account, { username: 'admin', password: 'here-secret' })
    const theirs = user(account.id, 'admin', { facts: { digests: digestsOf('admin', 'there') } })
    await taker.take(world, theirs)
    const names = (await world.ada.get(`${account.path}/users`)).data.map(
      ({ id, username }: { id: string; username: string }) => [id, username],
    )
    expect(new Map(names)).toEqual(
      new Map([
        [here.id, `admin.${here.id.slice(-8)}`],
        [theirs.id, 'admin'],
      ]),
    )
    const owner = async (password: string) =>
      (await signIn(account.name, credentialsOf('admin', password))).data.owner_id
    expect([await owner('here-secret'), await owner('there')]).toEqual([here.id, theirs.id])
  })

  it('take names from each other, in whatever order they come', async () => {
    const account = await world.account(world.acme)
    const [a, b] = [user(account.id, 'one'), user(account.id, 'two')]
    const named = (one: Arriving, username: string) => ({ ...one, doc: { ...one.doc, username } })
    await taker.take(world, a, b)
    await taker.take(world, named(a, 'two'), named(b, 'one'))
    const idOf = async (name: string) => (await world.server.areas.users.byUsername(account.id, name))?.id
    expect([await idOf('one'), await idOf('two')]).toEqual([b.id, a.id])
    await taker.take(world, named(b, 'two'), named(a, 'one'))
    expect([await idOf('one'), await idOf('two')]).toEqual([a.id, b.id])
    const claims = await world.server.store.all(
      "SELECT value FROM claims WHERE account_id = $1 AND name = 'username' ORDER BY value",
      [account.id],
    )
    expect(claims.map(({ value }) => value)).toEqual(['one', 'two'])
  })

  it('lose a photo that is there no more, and go with what is theirs', async () => {
    const account = await world.account(world.acme)
    const photo = { role: 'photo', contentType: 'image/png', bytes: png }
    const ann = user(account.id, 'ann', { files: [photo] })
    await taker.take(world, ann)
    await taker.take(world, { ...ann, files: [] })
    const path = `${account.path}/users/${ann.id}`
    expect((await world.ada.get(path)).data.has_avatar).toBe(false)
    expect((await world.ada.get(`${path}/photo`)).status).toBe(404)
    await taker.take(world, ann)
    expect(await taker.remove(world, 'user', ann)).toBe(true)
    expect(await taker.remove(world, 'user', ann)).toBe(false)
    expect((await world.ada.get(path)).status).toBe(404)
    const left = await world.server.store.all('SELECT id FROM records WHERE account_id = $1 AND id = $2', [
      account.id,
      ann.id,
    ])
    expect(left).toEqual([])
  })

  it('come without a photo that is none', () => {
    const place = { accountId: '1'.repeat(32), id: '2'.repeat(32) }
    const problemOf = (file: ImportedFile) => taker.adoptionOf('user').fileProblem?.(file, place)
    const file = (bytes: Buffer) => ({ role: 'photo', contentType: 'image/png', bytes })
    expect(problemOf(file(png))).toBeUndefined()
    expect(problemOf(file(Buffer.from('<svg>')))).toBe('it is not an image of a known type')
    expect(problemOf(file(Buffer.alloc(2_000_001)))).toBe('it is larger than 2000000 bytes')
  })
})

describeEngines('adopted devices', (engine) => {
  const taker = createTaker()
  const world = useWorld(engine, undefined, undefined, { more: [taker.area] })

  const device = (accountId: string, id: string, doc: Json): Arriving => ({
    as: 'device',
    accountId,
    id,
    doc: { name: 'Phone', ...doc },
  })

  it('keep their ids, times, owners and SIP passwords, which are sealed', async () => {
    const account = await world.account(world.acme)
    const owner = await world.user(account)
    const phone = device(account.id, '1'.repeat(32), {
      owner_id: owner.id,
      mac_address: '001122aabbcc',
      enabled: true,
      sip: { username: 'phone1', password: 'sip-secret' },
      provision: { combo_keys: { 0: { type: 'line' } } },
      shoe: 45,
    })
    expect(await taker.take(world, phone)).toEqual([true])
    expect(await world.unchanged(() => taker.take(world, phone))).toEqual([false])
    const path = `${account.path}/devices/${phone.id}`
    const answer = await world.ada.get(path)
    expect(answer).toSucceedWith(expect.objectContaining({ ...phone.doc, id: phone.id }))
    expect(answer.body.metadata).toEqual({ id: phone.id, created: once, modified: once + 1 })
    const rows = await world.server.store.all('SELECT doc FROM records WHERE id = $1', [phone.id])
    expect(JSON.stringify(rows)).not.toContain('sip-secret')
    const asked = await world.operator.get('/v2/edge', {
      query: { realm: account.realm, username: 'PHONE1' },
    })
    expect(asked.data).toMatchObject({ account_id: account.id, device_id: phone.id })
    expect(await taker.remove(world, 'device', phone)).toBe(true)
    expect((await world.ada.get(path)).status).toBe(404)
  })

  it('take SIP names and MAC addresses from each other, in whatever order they come', async () => {
    const account = await world.account(world.acme)
    const phones = (one: string, two: string) => [
      device(account.id, '2'.repeat(32), { mac_address: `0000000000${one}`, sip: { username: `p${one}` } }),
      device(account.id, '3'.repeat(32), { mac_address: `0000000000${two}`, sip: { username: `p${two}` } }),
    ]
    await taker.take(world, ...phones('01', '02'))
    await taker.take(world, ...phones('02', '01'))
    const idOf = async (name: string) => (await world.server.areas.devices.byUsername(account.id, name))?.id
    expect([await idOf('p01'), await idOf('p02')]).toEqual(['3'.repeat(32), '2'.repeat(32)])
    await taker.take(world, ...phones('01', '02').reverse())
    expect([await idOf('p01'), await idOf('p02')]).toEqual(['2'.repeat(32), '3'.repeat(32)])
  })
})
