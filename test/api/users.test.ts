// Users, without photos, cards and owned objects.
import { expect, it } from 'vitest'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import type { Json } from '../../src/lib/json.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const anId = expect.stringMatching(/^[0-9a-f]{32}$/)
const noId = '0123456789abcdef0123456789abcdef'
const name = { first_name: 'A', last_name: 'B' }

describeAnyEngine('users', (engine) => {
  const world = useWorld(engine)
  const users = () => `${world.acme.path}/users`
  const put = (data: Json) => world.ada.put(users(), data)
  const refusedPut = (data: Json) => world.unchanged(() => put(data))

  it('are created with the defaults of their fields, and without the password', async () => {
    const data = { ...name, username: 'Whole.User', password: 'secret-word', email: 'w@u.example', shoe: 45 }
    const answer = await put(data)
    expect(answer).toSucceedWith({
      id: anId,
      ...name,
      username: 'whole.user',
      email: 'w@u.example',
      shoe: 45,
      has_avatar: false,
      enabled: true,
      priv_level: 'user',
      call_restriction: {},
      music_on_hold: {},
      hotdesk: { enabled: false, require_pin: false, keep_logged_in_elsewhere: false },
      require_password_update: false,
      verified: false,
      vm_to_email_enabled: true,
    })
    const { id } = answer.data
    const now = gregorianNow(world.clock)
    expect(answer.body.metadata).toEqual({
      id,
      created: now,
      modified: now,
      is_password_expired: false,
      warnings: [{ path: 'shoe', message: 'The server does not use this key' }],
    })
    expect(answer.headers.location).toBe(`${users()}/${id}`)
    expect(await world.ada.get(`${users()}/${id}`)).toSucceedWith(answer.data)
  })

  it('are listed by last and first name, with what is switched on', async () => {
    const account = await world.account(world.acme)
    const b = await world.user(account, { ...name, last_name: 'b', vm_to_email_enabled: false })
    const a = await world.admin(account, { first_name: 'x', last_name: 'B', email: 'a@b.example' })
    const answer = await world.ada.get(`${account.path}/users`, { query: { ascending: true } })
    expect(answer).toSucceedWith([
      {
        id: b.id,
        username: b.username,
        first_name: 'A',
        last_name: 'b',
        priv_level: 'user',
        flags: [],
        features: [],
      },
      {
        id: a.id,
        username: a.username,
        email: 'a@b.example',
        first_name: 'x',
        last_name: 'B',
        priv_level: 'admin',
        flags: [],
        features: ['vm_to_email'],
      },
    ])
  })

  it('show call forwarding in their row while it is on', async () => {
    const account = await world.account(world.acme)
    const user = await world.user(account)
    const features = async () => (await world.ada.get(`${account.path}/users`)).data[0].features
    expect(await features()).not.toContain('call_forward')
    await world.ada.patch(user.path, { call_forward: { enabled: true, number: '+4912345' } })
    expect(await features()).toContain('call_forward')
    await world.ada.patch(user.path, { call_forward: null })
    expect(await features()).not.toContain('call_forward')
    await world.ada.patch(user.path, {
      call_forward: { enabled: false, busy: { enabled: true, number: '1' } },
    })
    expect(await features()).toContain('call_forward')
  })

  it('show every other feature in their row', async () => {
    const account = await world.account(world.acme)
    await world.user(account, {
      hotdesk: { enabled: true },
      call_failover: { enabled: true, number: '1' },
      caller_id: { external: { number: '+491' } },
      music_on_hold: { media_id: 'm' },
      do_not_disturb: { enabled: true },
      smartpbx: { fax: { enabled: true }, off: { enabled: false } },
    })
    const { features } = (await world.ada.get(`${account.path}/users`)).data[0]
    expect(features.toSorted()).toEqual([
      'call_forward_failover',
      'caller_id',
      'do_not_disturb',
      'fax',
      'hotdesk',
      'music_on_hold',
      'vm_to_email',
    ])
  })

  it('have user names that are unique in the account, whatever the case', async () => {
    expect(await refusedPut({ ...name, username: 'ADA' })).toFailWith(400, 'validation error', {
      username: { unique: { message: 'Username must be unique within account', cause: 'ADA' } },
    })
    expect(await world.rex.put(`${world.rival.path}/users`, { ...name, username: 'ADA' })).toSucceed()
    const rename = () => world.ada.patch(world.uli.path, { username: 'Ada', password: 'new-password' })
    expect(await world.unchanged(rename)).toBreak({ username: ['unique'] })
  })

  it('let one of two simultaneous requests have a user name', async () => {
    const both = await Promise.all(['Racer', 'RACER'].map((username) => put({ ...name, username })))
    expect(both.map(({ status }) => status).sort()).toEqual([201, 400])
    expect(both.find(({ status }) => status === 400)).toBreak({ username: ['unique'] })
  })

  it('have hotdesk ids that are unique in the account', async () => {
    expect(await put({ ...name, hotdesk: { id: '100' } })).toSucceed()
    expect(await refusedPut({ ...name, hotdesk: { id: '100' } })).toFailWith(400, 'validation error', {
      'hotdesk.id': { unique: { message: 'Hotdesk ID must be unique within account', cause: '100' } },
    })
  })

  it('are rejected with every name in use, and with all other errors', async () => {
    expect(await put({ ...name, username: 'twice', hotdesk: { id: '200' } })).toSucceed()
    const again = { ...name, username: 'TWICE', hotdesk: { id: '200' } }
    expect(await refusedPut(again)).toBreak({ username: ['unique'], 'hotdesk.id': ['unique'] })
    expect(await refusedPut({ ...again, timezone: 7 })).toBreak({
      username: ['unique'],
      'hotdesk.id': ['unique'],
      timezone: ['type'],
    })
    expect(await refusedPut({ ...again, password: 'x' })).toBreak({
      username: ['unique'],
      'hotdesk.id': ['unique'],
    })
  })

  it('may share an email address', async () => {
    for (let round = 0; round < 2; round += 1)
      expect(await put({ ...name, email: 'same@b.example' })).toSucceed()
  })

  it('are held to the bounds of their fields', async () => {
    const broken: [Json, Record<string, string[]>][] = [
      [{ first_name: '' }, { first_name: ['minLength'] }],
      [{ last_name: 'x'.repeat(129) }, { last_name: ['maxLength'] }],
      [{ username: 'with space' }, { username: ['pattern'] }],
      [{ username: 'x'.repeat(257) }, { username: ['maxLength'] }],
      [{ email: 'not-mail' }, { email: ['wrong_format'] }],
      [{ priv_level: 'root' }, { priv_level: ['enum'] }],
      [{ timezone: 'Nowhere' }, { timezone: ['enum'] }],
      [{ addresses: [] }, { addresses: ['type'] }],
      [{ call_forward: { enabled: true, foo: 1 } }, { 'call_forward.foo': ['additionalProperties'] }],
      [{ hotdesk: { pin: '123' } }, { 'hotdesk.pin': ['minLength'] }],
      [{ media: { audio: { codecs: ['OPUSSY'] } } }, { 'media.audio.codecs.0': ['enum'] }],
      [{ credentials: 'no digest' }, { credentials: ['wrong_format'] }],
    ]
    for (const [data, rules] of broken) expect(await refusedPut({ ...name, ...data })).toBreak(rules)
  })

  it('say what is missing in an emergency address', async () => {
    const emergency = {
      name: 'n',
      house_number: 5,
      street: 's',
      locality: 'l',
      region: 'r',
      postal_code: 'p',
    }
    const answer = await refusedPut({ ...name, addresses: { emergency } })
    expect(answer).toFailWith(400, 'validation error', {
      'addresses.emergency.country': {
        required: { message: 'Field is required but missing', value: 'country' },
      },
    })
    const complete = { emergency: { ...emergency, country: 'DE' } }
    expect((await put({ ...name, addresses: complete })).data.addresses).toEqual(complete)
  })

  it('say that addresses must be an object', async () => {
    const answer = await refusedPut({ ...name, addresses: [] })
    expect(answer.data.addresses.type).toMatchObject({ target: 'object', value: [] })
  })

  it('are changed by PATCH, replaced by POST', async () => {
    const user = await world.user(world.acme, { shoe: 1 })
    world.clock.advance({ seconds: 7 })
    const patched = await world.ada.patch(user.path, { first_name: 'New' })
    expect(patched.data).toMatchObject({ first_name: 'New', shoe: 1, username: user.username })
    expect(patched.body.metadata.modified).toBe((patched.body.metadata.created as number) + 7)
    const posted = await world.ada.post(user.path, { ...name, username: user.username })
    expect(posted.data).toMatchObject({ ...name, username: user.username })
    expect(posted.data).not.toHaveProperty('shoe')
    expect(await world.ada.get(user.path)).toSucceedWith(posted.data)
  })

  it('take their own record back as it was read', async () => {
    const { data } = await world.ada.get(world.uli.path)
    expect(await world.ada.post(world.uli.path, data)).toSucceedWith(data)
    expect((await world.ada.get(users(), { query: { filter_features: 'x' } })).data).toEqual([])
  })

  it('are deleted, and answered as they were', async () => {
    const user = await world.user(world.acme)
    const before = (await world.ada.get(user.path)).data
    const answer = await world.ada.delete(user.path)
    expect(answer).toSucceedWith(before)
    expect(answer.body.metadata).toMatchObject({ id: user.id, deleted: true })
    const gone = { message: 'bad identifier', cause: user.id }
    for (const method of ['GET', 'POST', 'PATCH', 'DELETE'])
      expect(await world.ada.request(method, user.path)).toFailWith(404, 'bad_identifier', gone)
    expect(JSON.stringify((await world.ada.get(users())).data)).not.toContain(user.id)
    expect(await user.get(world.acme.path)).toFailWith(401, 'invalid_credentials', {
      message: 'invalid credentials',
    })
    expect(await put({ ...name, username: user.username })).toSucceed()
  })

  it('are deleted once', async () => {
    const user = await world.user(world.acme)
    const both = await Promise.all([world.ada.delete(user.path), world.ada.delete(user.path)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 404])
  })

  it('cannot be created at the place of one', async () => {
    expect(await world.unchanged(() => world.ada.put(world.uli.path, name))).toFailWith(405, 'invalid_method')
  })

  it('are not changed or read by rivals', async () => {
    for (const method of ['GET', 'POST', 'PATCH', 'DELETE']) {
      const answer = await world.unchanged(() => world.rex.request(method, world.uli.path, name))
      expect(answer).toFailWith(403, 'forbidden')
    }
    expect(await world.rex.get(users())).toFailWith(403, 'forbidden')
    expect(await world.unchanged(() => world.rex.put(users(), name))).toFailWith(403, 'forbidden')
  })

  it('make no admin of themselves or others, unless they are one', async () => {
    const attempts = [
      () => world.uli.patch(world.uli.path, { priv_level: 'admin' }),
      () => world.uli.patch(world.ada.path, { username: 'mine', password: 'mine-mine' }),
      () => world.uli.delete(world.ada.path),
    ]
    for (const attempt of attempts)
      expect(await world.unchanged(attempt)).toBreak({ priv_level: ['forbidden'] })
    expect((await world.ada.put(users(), { ...name, priv_level: 'admin' })).data.priv_level).toBe('admin')
  })

  it('of an unknown account or id are not found', async () => {
    expect(await world.ada.get(`${users()}/${noId}`)).toFailWith(404, 'bad_identifier', {
      message: 'bad identifier',
      cause: noId,
    })
    expect(await world.ada.get(`/v2/accounts/${noId}/users`)).toFailWith(401, 'invalid_credentials')
  })
})
