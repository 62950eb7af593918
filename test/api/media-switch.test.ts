import { expect, it } from 'vitest'
import { createDevices } from '../../src/areas/devices/operations.ts'
import { createQuickcalls } from '../../src/areas/quickcalls/operations.ts'
import { callWishesIn } from '../../src/areas/quickcalls/rules.ts'
import { failure } from '../../src/lib/failure.ts'
import type { Json } from '../../src/lib/json.ts'
import type { MediaSwitch, Phone } from '../../src/switch/media-switch.ts'
import { describeEngines, useWorld } from '../support/world.ts'

const author = { requestId: 'test' }
const noSwitch = [500, 'no media switch is configured', { message: 'no media switch is configured' }] as const

/** A switch that writes down what it is told. */
const createRecorder = () => {
  const told: unknown[] = []
  const names = (phones: readonly Phone[]) => phones.map(({ username, realm }) => `${username}@${realm}`)
  const mediaSwitch: MediaSwitch = {
    registered: async () => new Set(),
    endRegistrations: async (phones) => void told.push(['end', ...names(phones)]),
    notify: async (phone, notice) => void told.push(['notify', ...names([phone]), notice]),
    sync: async (phones, restart) => void told.push([restart, ...names(phones)]),
    startQuickcall: async (call) => {
      told.push(['call', call.number, ...names(call.phones)])
      return { ended: Promise.resolve({ hangup_cause: 'NORMAL_CLEARING' }) }
    },
  }
  return { mediaSwitch, take: () => told.splice(0) }
}

describeEngines('a media switch', (engine) => {
  const world = useWorld(engine)

  const equipped = async () => {
    const { mediaSwitch, take } = createRecorder()
    const { store, areas } = world.server
    const mobileNumbers = areas.phoneNumbers.mobile
    const devices = createDevices({
      store,
      mediaSwitch,
      mobileNumbers,
    })
    const made = await world.account()
    const account = await world.server.areas.accounts.get(made.id)
    const owner = (await world.user(made)).id
    const sip = { username: 'desk', password: 'first-secret' }
    const device = await devices.create(author, account, {
      name: 'Desk',
      enabled: true,
      sip,
      owner_id: owner,
    })
    return { devices, account, device, owner, sip, take, mediaSwitch, realm: account.doc.realm }
  }

  it('ends a registration when password, user name, owner or enabled change, and with the device', async () => {
    const { devices, account, device, sip, take, realm } = await equipped()
    const ended = [['end', `desk@${realm}`]]
    const base = { ...device.doc }
    const after = async (data: Json) => {
      const stored = await devices.get(account.id, device.id)
      await devices.replace(author, account, stored, { ...base, ...data })
      const told = take()
      const changed = await devices.get(account.id, device.id)
      await devices.replace(author, account, changed, base)
      take()
      return told
    }
    expect(await after({ name: 'Renamed', sip: { ...sip, transport: 'tcp' } })).toEqual([])
    expect(await after({ sip: { ...sip, password: 'second-secret' } })).toEqual(ended)
    expect(await after({ sip: { ...sip, username: 'table' } })).toEqual(ended)
    expect(await after({ enabled: false })).toEqual(ended)
    expect(await after({ owner_id: undefined })).toEqual(ended)
    const stored = await devices.get(account.id, device.id)
    await devices.remove(author, account, stored)
    expect(take()).toEqual(ended)
  })

  it('is told to synchronize, to notify and to call', async () => {
    const { devices, account, device, owner, take, mediaSwitch, realm } = await equipped()
    const phone = `desk@${realm}`
    await devices.sync(account, [device], 'reboot')
    await devices.trySync(account, await devices.ownedBy(account, owner), 'reload')
    await devices.notify(account, device, { event: 'check-sync' })
    const quickcalls = createQuickcalls({ settings: undefined as never, devices, mediaSwitch })
    const silent = await devices.create(author, account, { name: 'Off', enabled: false })
    const wishes = callWishesIn('+1 (415) 555-0100', () => undefined)
    const { ended } = await quickcalls.start(account, [device, silent], wishes)
    expect(await ended).toEqual({ hangup_cause: 'NORMAL_CLEARING' })
    expect(take()).toEqual([
      ['reboot', phone],
      ['reload', phone],
      ['notify', phone, { event: 'check-sync' }],
      ['call', '+14155550100', phone],
    ])
  })

  it('that fails does not undo a change', async () => {
    const { devices, account, device, mediaSwitch } = await equipped()
    mediaSwitch.sync = () => Promise.reject(failure('no_media_switch', {}))
    await devices.trySync(account, [device], 'reload')
    await expect(devices.sync(account, [device], 'reload')).rejects.toMatchObject({ kind: 'no_media_switch' })
  })
})

describeEngines('quickcalls', (engine) => {
  const world = useWorld(engine)

  const places = async (fields: Json = {}) => {
    const { acme } = world
    const user = await world.user(acme, fields)
    const device = await world.device(acme, { owner_id: user.id, ...fields })
    return [`${device.path}/quickcall/100`, `${user.path}/quickcall/100`]
  }

  it('find no switch to carry them', async () => {
    for (const path of await places()) {
      expect(await world.ada.get(path)).toFailWith(...noSwitch)
      expect(await world.ada.post(path)).toFailWith(...noSwitch)
    }
  })

  it('are refused with everything that is wrong with them', async () => {
    const query = {
      auto_answer: 'perhaps',
      'ignore-early-media': '7',
      media: 'carrier pigeon',
      timeout: '2',
      number_filter: '^(1)(0)',
      custom_application_vars: 'text',
    }
    for (const path of await places()) {
      expect(await world.ada.get(path, { query })).toBreak({
        auto_answer: ['type'],
        'ignore-early-media': ['type'],
        media: ['enum'],
        timeout: ['minimum'],
        number_filter: ['wrong_format'],
        custom_application_vars: ['type'],
      })
      expect(await world.ada.get(path, { query: { timeout: 'soon' } })).toBreak({ timeout: ['type'] })
      expect(await world.ada.get(path.replace(/100$/, '%20(-)'))).toBreak({ number: ['invalid'] })
    }
  })

  it('of strangers are refused, unless the record or the settings invite them', async () => {
    const { anonymous } = world
    const unknown = [
      `${world.acme.path}/devices/${'0'.repeat(32)}/quickcall/1`,
      `/v2/accounts/${'0'.repeat(32)}/devices/${'0'.repeat(32)}/quickcall/1`,
    ]
    for (const path of [...(await places()), ...unknown]) {
      expect(await anonymous.get(path)).toFailWith(401, 'invalid_credentials')
      expect((await anonymous.post(path)).status).toBe(401)
    }
    for (const path of await places({ allow_anonymous_quickcalls: true })) {
      expect(await anonymous.get(path)).toFailWith(...noSwitch)
      expect(await anonymous.post(path)).toFailWith(401, 'invalid_credentials')
    }
    await world.configure('crossbar', { default_allow_anonymous_quickcalls: true })
    for (const path of await places()) expect(await anonymous.get(path)).toFailWith(...noSwitch)
    for (const path of await places({ allow_anonymous_quickcalls: false })) {
      expect(await anonymous.get(path)).toFailWith(401, 'invalid_credentials')
    }
    await world.configure('crossbar', { default_allow_anonymous_quickcalls: false })
  })

  it('are no way into an account that is not there, nor a foreign one', async () => {
    const { rex, operator } = world
    const [path = ''] = await places({ allow_anonymous_quickcalls: true })
    expect(await rex.get(path)).toFailWith(403, 'forbidden')
    const nowhere = `/v2/accounts/${'0'.repeat(32)}/devices/${'0'.repeat(32)}/quickcall/1`
    for (const caller of [rex, operator]) {
      expect(await caller.get(nowhere)).toFailWith(401, 'invalid_credentials', {
        message: 'invalid credentials',
      })
    }
    const missing = `${world.acme.path}/users/${'0'.repeat(32)}/quickcall/1`
    expect(await operator.get(missing)).toFailWith(404, 'bad_identifier')
  })

  it('are not started by HEAD, which must do nothing', async () => {
    for (const path of await places()) {
      const answer = await world.ada.head(path)
      expect(answer.status).toBe(405)
      expect(answer.headers.allow).toBe('GET, OPTIONS, POST')
    }
  })

  it('are paid twice: as a request for the device, and as a call', async () => {
    const { acme } = world
    const phone = await world.device(acme, { allow_anonymous_quickcalls: true })
    const path = `${phone.path}/quickcall/100`
    const paid = async (who: {
      get(path: string): Promise<{ body: { tokens?: { remaining: number } } }>
    }) => {
      const before = (await world.ada.get(acme.path)).body.tokens?.remaining as number
      const { body } = await who.get(path)
      return before - (body.tokens?.remaining as number)
    }
    const prices = async (token_costs: unknown) => {
      await world.configure('crossbar', { token_costs })
      return [await paid(world.ada), await paid(world.anonymous)]
    }
    const free = { accounts: 0 }
    expect(await prices({ ...free, devices: { GET: { quickcall: 7 } } })).toEqual([8, 7])
    expect(await prices({ ...free, devices: { GET: 3, quickcall: 5 } })).toEqual([8, 5])
    expect(await prices({ ...free, [acme.id]: { accounts: 0, devices: 2, quickcall: 4 } })).toEqual([6, 4])
    await world.configure('crossbar', { token_costs: 0 })
  })
})
