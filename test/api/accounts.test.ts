// One account.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { notForCaller } from '../support/matchers/refusals.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const anId = expect.stringMatching(/^[0-9a-f]{32}$/)
const now = 63_934_833_600

describeAnyEngine('creating an account', (engine) => {
  const world = useWorld(engine)
  let made = 0
  const freshName = () => {
    made += 1
    return `Fresh ${made}`
  }

  it('answers the account, with read-only values in data and in metadata', async () => {
    const answer = await world.ross.put('/v2/accounts', {
      name: 'Whole, Inc.',
      realm: 'whole.example',
      shoe: 1,
    })
    const readOnly = {
      enabled: true,
      created: now,
      modified: now,
      is_reseller: false,
      reseller_id: world.reseller.id,
      superduper_admin: false,
      wnm_allow_additions: false,
      billing_mode: 'limits_only',
    }
    expect(answer).toSucceedWith({
      id: anId,
      ...readOnly,
      knm_allow_additions: false,
      descendants_count: 0,
      available_apps: [],
      blacklists: [],
      name: 'Whole, Inc.',
      realm: 'whole.example',
      shoe: 1,
      call_restriction: {},
      music_on_hold: {},
      timezone: 'UTC',
      language: 'en-US',
      caller_id: { internal: { name: '' }, external: { name: '' }, emergency: { name: '' } },
    })
    const { warnings, ...metadata } = answer.body.metadata
    expect(metadata).toEqual({ id: answer.data.id, ...readOnly })
    expect(warnings).toEqual([{ path: 'shoe', message: 'The server does not use this key' }])
    expect(answer.headers.location).toBe(`/v2/accounts/${answer.data.id}`)
    const read = await world.ross.get(`/v2/accounts/${answer.data.id}`)
    expect(read).toSucceedWith(answer.data)
    expect(read.body.metadata).toEqual(metadata)
  })

  it('puts it below the caller, or below the account in the path', async () => {
    const own = (await world.ada.put('/v2/accounts', { name: freshName() })).data
    const made = await world.ross.put(world.acme.path, { name: freshName() })
    const below = made.data
    const ofAlias = await world.ross.put('/v2/account', { name: freshName() })
    for (const { headers, data } of [made, ofAlias]) expect(headers.location).toBe(`/v2/accounts/${data.id}`)
    const { data } = await world.ross.get(`${world.acme.path}/children`)
    const ids = data.map(({ id }: Json) => id)
    expect(ids).toEqual(expect.arrayContaining([own.id, below.id]))
  })

  it('generates a realm below that of the master account, or with the suffix that the operator sets', async () => {
    const realmOf = async (more: Json = {}) =>
      (await world.ada.put('/v2/accounts', { name: freshName(), ...more })).data.realm
    expect(await realmOf()).toMatch(/^[0-9a-f]{6}\.master\.localhost$/)
    expect(await realmOf({ realm: '' })).toMatch(/^[0-9a-f]{6}\.master\.localhost$/)
    expect(await realmOf({ realm: '  ' })).toMatch(/^[0-9a-f]{6}\.master\.localhost$/)
    await world.configure('crossbar.accounts', { account_realm_suffix: 'voice.example' })
    expect(await realmOf()).toMatch(/^[0-9a-f]{6}\.voice\.example$/)
  })

  it('takes spaces out of the realm', async () => {
    const answer = await world.ada.put('/v2/accounts', { name: freshName(), realm: ' spaced .example ' })
    expect(answer.data.realm).toBe('spaced.example')
  })

  it('refuses a name and a realm that are taken, in one answer', async () => {
    const data = { name: 'a.C-m E!', realm: 'ACME.test' }
    const answer = await world.unchanged(() => world.rex.put('/v2/accounts', data))
    expect(answer).toFailWith(400, 'validation error', {
      name: { unique: { message: 'Account name already in use', cause: 'a.C-m E!' } },
      realm: { unique: { message: 'Account realm already in use', cause: 'ACME.test' } },
    })
  })

  it('names all mistakes at once, those of the schema too', async () => {
    const data = {
      realm: 'ACME.test',
      timezone: "Mars/Tséyi'",
      blacklists: ['a', 'a'],
      preflow: { never: 'x' },
    }
    expect(await world.unchanged(() => world.ada.put('/v2/accounts', data))).toBreak({
      name: ['required'],
      realm: ['unique'],
      timezone: ['enum'],
      blacklists: ['uniqueItems'],
      'preflow.never': ['additionalProperties'],
    })
  })

  it('holds the fields to their bounds', async () => {
    const broken: [Json, Record<string, string[]>][] = [
      [{ name: '' }, { name: ['minLength'] }],
      [{ name: 'x'.repeat(129) }, { name: ['maxLength'] }],
      [{ name: 5 }, { name: ['type'] }],
      [{ name: '--- !?' }, { name: ['invalid'] }],
      [{ name: '\u093e' }, { name: ['invalid'] }],
      [{ realm: 'abc' }, { realm: ['minLength'] }],
      [{ realm: 'under$core' }, { realm: ['pattern'] }],
      [{ caller_id: { internal: { name: 'x'.repeat(36) } } }, { 'caller_id.internal.name': ['maxLength'] }],
      [{ call_recording: { nobody: {} } }, { 'call_recording.nobody': ['additionalProperties'] }],
      [{ music_on_hold: { media_id: 'x'.repeat(2049) } }, { 'music_on_hold.media_id': ['maxLength'] }],
      [{ ringtones: { internal: 'x'.repeat(257) } }, { 'ringtones.internal': ['maxLength'] }],
      [{ enabled: 'perhaps' }, { enabled: ['type'] }],
    ]
    for (const [data, rules] of broken) {
      const answer = await world.unchanged(() =>
        world.ada.put('/v2/accounts', { name: freshName(), ...data }),
      )
      expect(answer).toBreak(rules)
    }
  })

  it('lets one of two simultaneous requests have a name', async () => {
    const name = freshName()
    const both = await Promise.all(
      [world.ada, world.rex].map((client) => client.put('/v2/accounts', { name })),
    )
    expect(both.map(({ status }) => status).sort()).toEqual([201, 400])
    expect(both.find(({ status }) => status === 400)).toBreak({ name: ['unique'] })
  })

  it('compares names by letters, combining marks and digits, in NFC', async () => {
    const names = ['राम', 'रमा', 'Zoë & Söhne', '電話 9']
    for (const name of names) expect(await world.ada.put('/v2/accounts', { name })).toSucceed()
    for (const name of ['राम.', 'zoe\u0308 so\u0308hne', 'ZOË SÖHNE', '電話9'])
      expect(await world.refused(() => world.rex.put('/v2/accounts', { name }))).toBreak({ name: ['unique'] })
  })

  it('allows a name twice when the operator does', async () => {
    await world.configure('crossbar.accounts', { ensure_unique_name: false })
    const twins = await Promise.all(
      [world.ada, world.rex].map((client) => client.put('/v2/accounts', { name: 'Twin' })),
    )
    for (const twin of twins) expect(twin).toSucceed()
    await world.configure('crossbar.accounts', { ensure_unique_name: true })
    expect(await world.unchanged(() => world.ada.put('/v2/accounts', { name: 'twin' }))).toBreak({
      name: ['unique'],
    })
    for (const twin of twins)
      expect(await world.operator.patch(`/v2/accounts/${twin.data.id}`, { org: 'x' })).toSucceed()
  })

  it('always says its timezone, its language and who its calls are from', async () => {
    const parent = await world.account(world.acme, { timezone: 'Europe/Oslo', language: 'nb-NO' })
    const account = await world.account(parent, {
      timezone: 'Asia/Tokyo',
      caller_id: { external: { name: 'Shop', number: '+14155550100' }, asserted: { name: 'Proven' } },
    })
    const callerId = {
      internal: { name: '' },
      external: { name: 'Shop', number: '+14155550100' },
      emergency: { name: '' },
      asserted: { name: 'Proven' },
    }
    const always = { timezone: 'Asia/Tokyo', language: 'nb-NO', caller_id: callerId }
    expect((await world.ada.get(account.path)).data).toMatchObject(always)
    const inherited = { timezone: 'Europe/Oslo', language: 'nb-NO' }
    const nothing = { timezone: null, language: null, caller_id: null }
    const nobody = { internal: { name: '' }, external: { name: '' }, emergency: { name: '' } }
    expect((await world.ada.patch(account.path, nothing)).data).toMatchObject({
      ...inherited,
      caller_id: nobody,
    })
    expect((await world.ada.post(account.path, { name: account.name, realm: '' })).data).toMatchObject({
      ...inherited,
      realm: account.realm,
      caller_id: nobody,
    })
  })

  it('says them also where an import stored it without', async () => {
    const parent = await world.account(world.acme, { timezone: 'Europe/Oslo', language: 'nb-NO' })
    const account = await world.account(parent)
    const { id, name, realm } = account
    await world.server.store.commit(
      new ChangeSet({ requestId: 'test' })
        .run('UPDATE records SET doc = $2 WHERE account_id = $1 AND id = $1', [
          id,
          JSON.stringify({ name, realm }),
        ])
        .record({ accountId: id, kind: 'account', id, action: 'edited' }),
    )
    const always = {
      timezone: 'Europe/Oslo',
      language: 'nb-NO',
      caller_id: { internal: { name: '' }, external: { name: '' }, emergency: { name: '' } },
    }
    const first = await world.ada.get(account.path)
    expect(first.data).toMatchObject(always)
    expect(await world.ada.patch(parent.path, { language: 'da-DK' })).toSucceed()
    const second = await world.ada.get(account.path)
    expect(second.data).toMatchObject({ ...always, language: 'da-DK' })
    expect(second.headers.etag).not.toBe(first.headers.etag)
  })

  it('takes timezone and language from the parent', async () => {
    const parent = await world.account(world.acme, { timezone: 'Europe/Oslo', language: 'nb-NO' })
    const child = await world.ada.put(parent.path, { name: freshName() })
    expect(child.data).toMatchObject({ timezone: 'Europe/Oslo', language: 'nb-NO' })
    const own = await world.ada.put(parent.path, { name: freshName(), timezone: 'Asia/Tokyo' })
    expect(own.data).toMatchObject({ timezone: 'Asia/Tokyo', language: 'nb-NO' })
  })

  it('makes a disabled account below a disabled one', async () => {
    const parent = await world.account(world.acme)
    await world.ada.patch(parent.path, { enabled: false })
    const child = await world.ada.put(parent.path, { name: freshName() })
    expect(child).toSucceed()
    expect(child.data.enabled).toBe(false)
  })

  it('gives it a new id and ignores the one in the body', async () => {
    const id = 'f'.repeat(32)
    const answer = await world.ada.put('/v2/accounts', {
      name: freshName(),
      id,
      created: 1,
      is_reseller: true,
    })
    expect(answer).toSucceed()
    expect(answer.data).toMatchObject({ created: now, is_reseller: false })
    expect(answer.data.id).not.toBe(id)
  })

  it('refuses an id that another account already has', async () => {
    for (const { id } of [world.rival, world.acme, world.master]) {
      const answer = await world.unchanged(() => world.ada.put('/v2/accounts', { name: freshName(), id }))
      expect(answer).toFailWith(401, 'invalid_credentials')
    }
  })

  it('is refused below a stranger', async () => {
    const answer = await world.unchanged(() => world.ada.put(world.rival.path, { name: freshName() }))
    expect(answer).toFailWith(403, 'forbidden')
    const above = await world.unchanged(() => world.ada.put(world.reseller.path, { name: freshName() }))
    expect(above).toFailWith(403, 'forbidden')
  })

  it('is refused to direct customers when the operator says so', async () => {
    await world.configure('crossbar.accounts', { allow_subaccounts_for_direct: false })
    const answer = await world.unchanged(() => world.ross.put('/v2/accounts', { name: freshName() }))
    expect(answer).toBreak({ account: ['forbidden'] })
    expect(await world.ada.put('/v2/accounts', { name: freshName() })).toSucceed()
    expect(await world.operator.put('/v2/accounts', { name: freshName() })).toSucceed()
    await world.configure('crossbar.accounts', { allow_subaccounts_for_direct: true })
  })

  it('is possible with an API key', async () => {
    expect(await world.acmeKey.put('/v2/accounts', { name: freshName() })).toSucceed()
  })
})

describeAnyEngine('changing an account', (engine) => {
  const world = useWorld(engine)

  it('merges with PATCH', async () => {
    const account = await world.account(world.acme, { caller_id: { internal: { name: 'In' } }, org: 'Org' })
    const before = (await world.ada.get(account.path)).data
    world.clock.advance({ seconds: 5 })
    const answer = await world.ada.patch(account.path, { caller_id: { external: { name: 'Ex' } }, org: null })
    const { org: _org, ...rest } = before
    expect(answer).toSucceedWith({
      ...rest,
      caller_id: { internal: { name: 'In' }, external: { name: 'Ex' }, emergency: { name: '' } },
      modified: before.modified + 5,
    })
    expect(await world.ada.get(account.path)).toSucceedWith(answer.data)
  })

  it('replaces with POST, but never the realm with nothing', async () => {
    const account = await world.account(world.acme, { org: 'Org', shoe: 1 })
    const answer = await world.ada.post(account.path, { name: account.name })
    expect(answer).toSucceed()
    expect(answer.data).toMatchObject({ name: account.name, realm: account.realm })
    expect(answer.data).not.toHaveProperty('org')
    expect(answer.data).not.toHaveProperty('shoe')
  })

  it('makes a new revision each time, even for the same content', async () => {
    const account = await world.account(world.acme)
    const { data } = await world.ada.get(account.path)
    const answers = []
    for (let round = 0; round < 4; round += 1) answers.push(await world.ada.post(account.path, data))
    for (const answer of answers) expect(answer).toSucceed()
    expect(new Set(answers.map(({ body }) => body.revision)).size).toBe(4)
  })

  it('knows every time zone of the world and no other', async () => {
    const account = await world.account(world.acme)
    for (const timezone of ['Europe/Berlin', 'UTC', 'America/Argentina/Ushuaia', 'Asia/Kolkata']) {
      const answer = await world.ada.patch(account.path, { timezone })
      expect(answer.data).toMatchObject({ timezone })
    }
    for (const timezone of ["Mars/Tséyi'", '', 'europe berlin', '+02:00x']) {
      const answer = await world.unchanged(() => world.ada.patch(account.path, { timezone }))
      expect(answer).toBreak({ timezone: ['enum'] })
    }
  })

  it('frees the old name and realm and keeps the new ones', async () => {
    const account = await world.account(world.acme)
    const data = { name: 'Renamed Ltd', realm: 'renamed.example' }
    expect((await world.ada.patch(account.path, data)).data).toMatchObject(data)
    expect(await world.unchanged(() => world.rex.put('/v2/accounts', { name: 'renamed ltd.' }))).toBreak({
      name: ['unique'],
    })
    expect(await world.rex.put('/v2/accounts', { name: account.name, realm: account.realm })).toSucceed()
  })

  it('may spell its own name and realm another way', async () => {
    const account = await world.account(world.acme, { name: 'Spelled', realm: 'spelled.example' })
    const data = { name: 'SPELLED!', realm: 'SPELLED.example' }
    expect((await world.ada.patch(account.path, data)).data).toMatchObject(data)
  })

  it('refuses what others hold', async () => {
    const data = { name: 'Rival', realm: 'rival.test' }
    const answer = await world.unchanged(() => world.ada.patch(world.acme.path, data))
    expect(answer).toBreak({ name: ['unique'], realm: ['unique'] })
  })

  it('enables and disables only from above, and stays so through other changes', async () => {
    const account = await world.account(world.acme)
    const own = await world.admin(account)
    const enabled = async (answer: Promise<{ data: Json }>) => (await answer).data.enabled
    expect(await enabled(own.patch(account.path, { enabled: false }))).toBe(true)
    expect(await enabled(own.post(account.path, { name: account.name, enabled: false }))).toBe(true)
    expect(await enabled(world.ada.patch(account.path, { enabled: false }))).toBe(false)
    expect(await enabled(world.ada.patch(account.path, { org: 'x' }))).toBe(false)
    expect(await enabled(world.ada.post(account.path, { name: account.name }))).toBe(false)
    expect(await enabled(world.ada.get(account.path))).toBe(false)
    expect(await enabled(world.ada.patch(account.path, { enabled: true }))).toBe(true)
  })

  it('ignores read-only values', async () => {
    const account = await world.account(world.acme)
    const { data } = await world.ada.get(account.path)
    const lies = {
      id: world.rival.id,
      reseller_id: world.rival.id,
      is_reseller: true,
      superduper_admin: true,
      wnm_allow_additions: true,
      knm_allow_additions: true,
      billing_mode: 'normal',
      descendants_count: 7,
      created: 1,
      tree: [],
      hidden: { isSuperduper: true },
    }
    for (const client of [world.ada, world.ross]) {
      const { tree, hidden, ...shown } = (await client.patch(account.path, lies)).data
      expect(shown).toMatchObject({ ...data, billing_mode: expect.any(String) })
      expect([tree, hidden]).toEqual([[], lies.hidden])
    }
    expect(await world.admin(account).then((own) => own.get(world.rival.path))).toFailWith(403, 'forbidden')
  })

  it('lets an admin of the master account set the privileged fields, by PATCH', async () => {
    const account = await world.account(world.acme)
    const flags = { superduper_admin: true, wnm_allow_additions: true }
    const posted = await world.operator.post(account.path, { name: account.name, ...flags })
    expect(posted.data).toMatchObject({ superduper_admin: false, wnm_allow_additions: false })
    const patched = await world.operator.patch(account.path, flags)
    expect(patched.data).toMatchObject({ ...flags, knm_allow_additions: true })
    expect(patched.body.metadata).toMatchObject(flags)
    const own = await world.admin(account)
    expect(await own.get(world.rival.path)).toSucceed()
    await world.operator.patch(account.path, { superduper_admin: false })
    expect(await own.get(world.rival.path)).toFailWith(403, 'forbidden')
  })

  it('accepts each of the three names of the flag for adding numbers, and uses the name whose value changes', async () => {
    const account = await world.account(world.acme)
    const patched = async (flags: Json) => {
      const { data } = await world.operator.patch(account.path, flags)
      expect(data).not.toHaveProperty('pvt_wnm_allow_additions')
      return [data.wnm_allow_additions, data.knm_allow_additions]
    }
    for (const name of ['knm_allow_additions', 'pvt_wnm_allow_additions', 'wnm_allow_additions']) {
      expect(await patched({ [name]: true })).toEqual([true, true])
      expect(await patched({ [name]: 'no' })).toEqual([true, true])
      expect(await patched({ [name]: false })).toEqual([false, false])
    }
    expect(await patched({ wnm_allow_additions: true, knm_allow_additions: false })).toEqual([true, true])
    expect(await patched({ org: 'x' })).toEqual([true, true])
    const own = await world.admin(account)
    for (const client of [own, world.ada])
      await client.patch(account.path, { knm_allow_additions: false, pvt_wnm_allow_additions: false })
    expect(await patched({})).toEqual([true, true])
  })

  it('lets no ordinary user of the master account set them', async () => {
    const account = await world.account(world.acme)
    const clerk = await world.user(world.master)
    const answer = await world.unchanged(() => clerk.patch(account.path, { superduper_admin: true }))
    expect(answer).toFailWith(403, 'forbidden', notForCaller)
    expect((await clerk.patch(world.master.path, { wnm_allow_additions: false })).data).toMatchObject({
      wnm_allow_additions: true,
    })
  })

  it('shows how the account is billed, from the point of view of the caller', async () => {
    const mode = async (client: typeof world.ada) => (await client.get(world.acme.path)).data.billing_mode
    expect(await mode(world.ross)).toBe('limits_only')
    expect(await mode(world.ada)).toBe('manual')
    expect((await world.ross.get(world.reseller.path)).data.billing_mode).toBe('normal')
  })

  it('is refused to strangers', async () => {
    for (const method of ['POST', 'PATCH', 'DELETE']) {
      const answer = await world.unchanged(() => world.rex.request(method, world.acme.path, { name: 'Mine' }))
      expect(answer).toFailWith(403, 'forbidden')
    }
  })
})

describeAnyEngine('an account without a timezone', (engine) => {
  const world = useWorld(engine)

  it('takes the timezone of a reseller, else what the operator sets, else that of the master account', async () => {
    const zoneOf = async (name: string, parent = '/v2/accounts') =>
      (await world.operator.put(parent, { name })).data.timezone
    await world.operator.patch(world.master.path, { timezone: 'Europe/Oslo' })
    expect(await zoneOf('Bakery')).toBe('Europe/Oslo')
    await world.configure('crossbar.accounts', { default_timezone: 'Asia/Tokyo' })
    expect(await zoneOf('Florist')).toBe('Asia/Tokyo')
    const reseller = await world.account(world.master, { timezone: 'Asia/Kolkata' })
    expect(await zoneOf('Grocer', reseller.path)).toBe('Asia/Kolkata')
  })
})
