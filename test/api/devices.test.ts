import { expect, it } from 'vitest'
import { notForCaller } from '../support/matchers/refusals.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const defaults = {
  enabled: true,
  call_restriction: {},
  music_on_hold: {},
  exclude_from_queues: false,
  mwi_unsolicited_updates: true,
  register_overwrite_notify: false,
  suppress_unregister_notifications: false,
}
const sipDefaults = { method: 'password', expire_seconds: 300, invite_format: 'contact' }

describeAnyEngine('devices', (engine) => {
  const world = useWorld(engine)

  it('keep the restriction of a class that has gone, until a request names it', async () => {
    const { ada, acme } = world
    const deny = { action: 'deny' }
    const restricted = { ours: deny, rest: deny }
    await world.configure('number_manager', {
      classifiers: { ours: { regex: '^\\+1415' }, rest: { regex: '.' } },
    })
    const { path } = await world.device(acme, { call_restriction: restricted })
    await world.configure('number_manager', { classifiers: { rest: { regex: '.' } } })
    const renamed = await ada.patch(path, { name: 'Renamed' })
    expect(renamed.data.call_restriction).toEqual(restricted)
    expect(renamed.body.metadata.warnings).toBeUndefined()
    const written = await ada.patch(path, { call_restriction: { ours: deny, 'a.b': deny } })
    expect(written.data.call_restriction).toEqual({ rest: deny })
    const message = 'No class of numbers has this name: the key was dropped'
    expect(written.body.metadata.warnings).toEqual([
      { path: 'call_restriction.ours', message },
      { path: 'call_restriction.a%2Eb', message },
    ])
    await world.configure('number_manager', { classifiers: undefined })
  })

  it('are created with the defaults of the schema, and answer with their SIP password', async () => {
    const { ada, acme } = world
    const sip = { username: 'Desk', password: 'desk-secret' }
    const made = await ada.put(`${acme.path}/devices`, { name: 'Desk', sip })
    const { id } = made.data
    const record = { id, name: 'Desk', ...defaults, sip: { ...sip, ...sipDefaults } }
    expect(made).toSucceedWith(record)
    expect(made.headers.location).toBe(`${acme.path}/devices/${id}`)
    expect(made.body.metadata).toEqual({ id, created: expect.any(Number), modified: expect.any(Number) })
    expect(await ada.get(`${acme.path}/devices/${id}`)).toSucceedWith(record)
  })

  it('leave no password in the audit log', async () => {
    const { ada, acme, server } = world
    const sip = { username: 'audited', password: 'never-written' }
    const { data } = await ada.put(`${acme.path}/devices`, { name: 'Audited', sip })
    await ada.patch(`${acme.path}/devices/${data.id}`, { sip: { password: 'nor-this-one' } })
    const rows = await server.store.all<{ after_doc: string }>(
      'SELECT before_doc, after_doc, changes FROM audit_log WHERE account_id = $1 AND record_id = $2',
      [acme.id, data.id],
    )
    expect(rows).toHaveLength(2)
    const text = JSON.stringify(rows)
    expect(text).toContain('audited')
    expect(text).not.toMatch(/never-written|nor-this-one/)
  })

  it('keep their other fields through a PATCH, also those that are unknown to the schema', async () => {
    const { ada, acme } = world
    const device = await world.device(acme, { name: 'Custom', flags: ['a'], custom: { kept: 1 } })
    const { path, ...record } = device
    const patched = await ada.patch(path, { custom: { added: [1, 2] } })
    const expected = { ...record, custom: { kept: 1, added: [1, 2] } }
    expect(patched).toSucceedWith(expected)
    expect(await ada.get(path)).toSucceedWith(expected)
    expect(await ada.patch(path, { custom: null, flags: null })).toSucceedWith({
      id: record.id,
      name: 'Custom',
      ...defaults,
      sip: sipDefaults,
    })
  })

  it('are replaced as a whole by POST, except for the type, which is fixed', async () => {
    const { ada, acme } = world
    const device = await world.device(acme, { device_type: 'softphone', flags: ['old'], custom: true })
    const replaced = await ada.post(device.path, { name: 'Renamed' })
    expect(replaced).toSucceedWith({
      id: device.id,
      name: 'Renamed',
      device_type: 'softphone',
      ...defaults,
      sip: sipDefaults,
    })
  })

  it('convert texts where a boolean or an integer is wanted', async () => {
    const device = await world.device(world.acme, { enabled: 'true', sip: { expire_seconds: '60' } })
    expect(device).toMatchObject({ enabled: true, sip: { expire_seconds: 60 } })
  })

  it('answer a deletion with the record as it was, and are gone then', async () => {
    const { ada, acme } = world
    const { path, ...record } = await world.device(acme, { name: 'Short-lived' })
    const gone = await ada.delete(path)
    expect(gone).toSucceedWith(record)
    expect(gone.body.metadata).toMatchObject({ id: record.id, deleted: true })
    for (const answer of [await ada.get(path), await ada.delete(path), await ada.post(path, { name: 'x' })]) {
      expect(answer).toFailWith(404, 'bad_identifier', { message: 'bad identifier', cause: record.id })
    }
  })

  it('are listed by name, with what is switched on and without secrets', async () => {
    const account = await world.account()
    const owner = await world.user(account)
    const features = {
      call_forward: { enabled: false, busy: { enabled: true, number: '+14155550100' } },
      caller_id: { external: { number: '+14155550101' } },
      do_not_disturb: { enabled: true },
    }
    const plain = await world.device(account, { name: 'b plain' })
    const rich = await world.device(account, {
      name: 'A rich',
      owner_id: owner.id,
      mac_address: '00:11:22:AA:BB:CC',
      sip: { username: 'rich', password: 'rich-secret' },
      flags: ['vip'],
      ...features,
    })
    const listed = await world.operator.get(`${account.path}/devices`, { query: { ascending: true } })
    expect(listed).toSucceedWith([
      {
        id: rich.id,
        name: 'A rich',
        username: 'rich',
        mac_address: '001122aabbcc',
        owner_id: owner.id,
        enabled: true,
        device_type: 'sip_device',
        flags: ['vip'],
        features: ['call_forward', 'caller_id', 'do_not_disturb'],
      },
      {
        id: plain.id,
        name: 'b plain',
        enabled: true,
        device_type: 'sip_device',
        flags: [],
        features: [],
      },
    ])
    await world.operator.patch(rich.path, { call_forward: null })
    const [row] = (await world.operator.get(`${account.path}/devices`, { query: { ascending: true } })).data
    expect(row.features).toEqual(['caller_id', 'do_not_disturb'])
  })

  it('tell in their rows whether they can register, when asked', async () => {
    const account = await world.account()
    await world.device(account, { name: 'a', device_type: 'landline' })
    await world.device(account, { name: 'b', device_type: 'softphone' })
    const query = { with_status: true, ascending: true }
    const { data } = await world.operator.get(`${account.path}/devices`, { query })
    expect(data).toMatchObject([{ registrable: false }, { registrable: true, registered: false }])
    expect(data[0]).not.toHaveProperty('registered')
  })

  it('tell their status: only what can register has a registration', async () => {
    const account = await world.account()
    const landline = await world.device(account, { name: 'a', device_type: 'landline' })
    const phone = await world.device(account, { name: 'b' })
    expect(await world.operator.get(`${account.path}/devices/status`)).toSucceedWith([
      { device_id: landline.id, registrable: false },
      { device_id: phone.id, registrable: true, registered: false },
    ])
  })

  it('of a user are listed, filtered and created under the user', async () => {
    const { ada, acme } = world
    const owner = await world.user(acme)
    await world.device(acme, { name: 'Not theirs' })
    const path = `${owner.path}/devices`
    expect(await ada.get(path)).toSucceedWith([])
    const made = await ada.put(path, { name: 'Theirs', owner_id: 'f'.repeat(32) })
    expect(made).toSucceed()
    expect(made.data.owner_id).toBe(owner.id)
    const { data } = await ada.get(path, { query: { with_status: true } })
    expect(data).toMatchObject([{ id: made.data.id, owner_id: owner.id, registrable: true }])
    expect(await ada.get(path, { query: { filter_name: 'Other' } })).toSucceedWith([])
    const unknown = `${acme.path}/users/${'0'.repeat(32)}/devices`
    const missing = { message: 'bad identifier', cause: '0'.repeat(32) }
    expect(await ada.get(unknown)).toFailWith(404, 'bad_identifier', missing)
    expect(await ada.put(unknown, { name: 'x' })).toFailWith(404, 'bad_identifier', missing)
  })

  it('of an account cannot be reached from another account by any method', async () => {
    const { rex, acme, rival } = world
    const { path, id } = await world.device(acme, { name: 'Coveted' })
    const before = await world.snapshot()
    const foreign = [
      await rex.get(path),
      await rex.post(path, { name: 'x' }),
      await rex.patch(path, { name: 'x' }),
      await rex.delete(path),
      await rex.post(`${path}/sync`),
      await rex.get(`${path}/quickcall/100`),
    ]
    for (const answer of foreign) expect(answer).toFailWith(403, 'forbidden', notForCaller)
    expect(await rex.delete(`${rival.path}/devices/${id}`)).toFailWith(404, 'bad_identifier')
    expect(await world.snapshot()).toEqual(before)
  })

  it('are changed with If-Match only by the client that read the last revision', async () => {
    const { ada, acme } = world
    const { path } = await world.device(acme)
    const read = await ada.get(path)
    const headers = { 'if-match': String(read.headers.etag) }
    expect(await ada.patch(path, { name: 'First' }, { headers })).toSucceed()
    expect(await ada.patch(path, { name: 'Second' }, { headers })).toFailWith(412, 'precondition failed')
    expect((await ada.get(path)).data.name).toBe('First')
  })
})

describeAnyEngine('devices without a media switch', (engine) => {
  const world = useWorld(engine)
  const noSwitch = [
    501,
    'no media switch is configured',
    { message: 'no media switch is configured' },
  ] as const

  it('say so when they are to be synchronized or notified', async () => {
    const { ada, acme } = world
    const { path } = await world.device(acme)
    expect(await ada.post(`${path}/sync`)).toFailWith(...noSwitch)
    const envelope = { action: 'notify' }
    const data = { data: { event: 'check-sync', body: { content_type: 'text/plain', data: 'x' } } }
    expect(await ada.put(path, data, { envelope })).toFailWith(...noSwitch)
  })

  it('want an action they know, and an event to notify of', async () => {
    const { ada, acme } = world
    const { path } = await world.device(acme)
    expect(await ada.put(path)).toFailWith(400, 'action required', {})
    expect(await ada.put(path, { data: { event: 'x' } })).toFailWith(400, 'action required', {})
    const unknown = { envelope: { action: 'explode' } }
    expect(await ada.put(path, {}, unknown)).toFailWith(400, 'invalid action', {})
    const notify = { envelope: { action: 'notify' } }
    expect(await ada.put(path, {}, notify)).toBreak({ data: ['required'] })
    expect(await ada.put(path, { data: {} }, notify)).toBreak({ 'data.event': ['required'] })
    const halfBody = { data: { event: 'x', body: {} } }
    expect(await ada.put(path, halfBody, notify)).toBreak({
      'data.body.content_type': ['required'],
      'data.body.data': ['required'],
    })
    const missing = `${acme.path}/devices/${'0'.repeat(32)}`
    expect(await ada.put(missing)).toFailWith(404, 'bad_identifier')
  })

  it('save a change that asks for a synchronization all the same, and do not keep the wish', async () => {
    const { ada, acme } = world
    const owner = await world.user(acme)
    const { path } = await world.device(acme, { owner_id: owner.id })
    const patched = await ada.patch(path, { name: 'Synced', sync: true })
    expect(patched).toSucceed()
    expect(patched.data.name).toBe('Synced')
    expect((await ada.get(path)).data).not.toHaveProperty('sync')
    const user = await ada.patch(owner.path, { timezone: 'Europe/Berlin', sync: true })
    expect(user).toSucceed()
    expect(user.data).not.toHaveProperty('sync')
  })
})
