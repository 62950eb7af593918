// Rows of lists contain what the rows of Kazoo contain: the views of its design documents are the reference.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { describeAnyEngine, useWorld } from '../support/world.ts'

describeAnyEngine('rows of lists', (engine) => {
  const world = useWorld(engine)
  const ring = { module: 'callflow', data: {}, children: {} }

  /** The row of a new record in its list. */
  const rowOf = async (list: string, record: Json): Promise<Json> => {
    const made = await world.operator.put(list, record)
    expect(made).toSucceed(201)
    const rows = (await world.operator.get(`${list}?paginate=false`)).data as unknown as Json[]
    return rows.find(({ id }) => id === made.data.id) ?? {}
  }

  const recording = { any: { any: { enabled: true } } }

  it.each<[list: string, record: Json, row: Json]>([
    [
      'callflows',
      {
        name: 'Sales',
        type: 'userGroup',
        numbers: ['401'],
        patterns: ['^40[2-9]$'],
        featurecode: { name: 'intercom', number: '0' },
        group_id: 'b'.repeat(32),
        flags: ['x'],
        flow: ring,
      },
      {
        name: 'Sales',
        type: 'userGroup',
        numbers: ['401'],
        patterns: ['^40[2-9]$'],
        featurecode: { name: 'intercom', number: '0' },
        group_id: 'b'.repeat(32),
        modules: ['callflow'],
        flags: ['x'],
      },
    ],
    [
      'callflows',
      { numbers: ['410'], flow: ring },
      { numbers: ['410'], patterns: [], featurecode: false, modules: ['callflow'], flags: [] },
    ],
    [
      'groups',
      {
        name: 'Sales',
        endpoints: {},
        smartpbx: { ringback: { enabled: true }, other: { enabled: false } },
        music_on_hold: { media_id: 'tune' },
      },
      { name: 'Sales', features: ['ringback', 'music_on_hold'], endpoints: 0, flags: [] },
    ],
    [
      'devices',
      {
        name: 'Desk',
        sip: { username: 'desk' },
        mac_address: '00:11:22:33:44:55',
        enabled: true,
        device_type: 'sip_device',
        call_recording: recording,
      },
      {
        name: 'Desk',
        username: 'desk',
        mac_address: '001122334455',
        enabled: true,
        device_type: 'sip_device',
        call_recording: recording,
        flags: [],
      },
    ],
    [
      'users',
      {
        first_name: 'Ann',
        last_name: 'Acme',
        username: 'ann.rows',
        email: 'ann@rows.test',
        password: 'secret-secret',
        priv_level: 'user',
        presence_id: '101',
        timezone: 'UTC',
        service: { type: 'pro' },
        call_recording: recording,
        smartpbx: { vmbox: { enabled: true } },
        hotdesk: { enabled: true },
      },
      {
        first_name: 'Ann',
        last_name: 'Acme',
        username: 'ann.rows',
        email: 'ann@rows.test',
        priv_level: 'user',
        presence_id: '101',
        timezone: 'UTC',
        service: { type: 'pro' },
        call_recording: recording,
        features: ['hotdesk', 'vm_to_email', 'vmbox'],
        flags: [],
      },
    ],
    [
      'resources',
      {
        name: 'Carrier',
        gateways: [{ server: 'carrier.rows.test' }],
        rules: ['^\\+1'],
        weight_cost: 30,
        template_name: 'Ours',
        classifiers: { did_us: { enabled: true } },
      },
      {
        name: 'Carrier',
        enabled: true,
        weight_cost: 30,
        template_name: 'Ours',
        classifiers: { did_us: { enabled: true } },
      },
    ],
    [
      'webhooks',
      { name: 'Hook', hook: 'all', uri: 'https://203.0.113.9/', group: 'billing' },
      { name: 'Hook', hook: 'all', uri: 'https://203.0.113.9/', group: 'billing', enabled: true },
    ],
  ])('of %s contain the keys of Kazoo', async (list, record, row) => {
    const account = await world.account(world.reseller)
    expect(await rowOf(`${account.path}/${list}`, record)).toMatchObject(row)
  })

  it('of rates contain the keys of Kazoo', async () => {
    const rate = {
      prefix: '4930',
      rate_name: 'berlin',
      carrier: 'ours',
      rate_cost: 0.02,
      rate_surcharge: 0.01,
      description: 'Berlin',
    }
    expect(await rowOf('/v2/rates', rate)).toEqual({
      id: expect.any(String),
      name: 'berlin',
      prefix: 4930,
      carrier: 'ours',
      cost: 0.02,
      surcharge: 0.01,
      description: 'Berlin',
    })
  })

  it('of accounts contain the keys of Kazoo', async () => {
    const { id, path } = await world.account(world.reseller)
    await world.operator.patch(path, { flags: ['x'] })
    const { name, realm } = (await world.operator.get(path)).data
    const row = async (list: string) => {
      const { data } = await world.operator.get(`${world.reseller.path}/${list}?paginate=false`)
      return (data as unknown as Json[]).find((one) => one.id === id)
    }
    expect(await row('children')).toEqual({ id, name, realm, descendants_count: 0, flags: ['x'] })
    expect(await row('descendants')).toMatchObject({
      id,
      name,
      realm,
      tree: [world.master.id, world.reseller.id],
      flags: ['x'],
    })
  })
})
