// Examples of numbers that another system has, and of phones and calls at a SIP edge.
import { RpcError, startEdgeServer } from '../servers/edge-server.ts'
import { startInventory } from '../servers/inventory-server.ts'
import { stockNumbers } from '../world/number-stock.ts'
import type { World } from '../world/world.ts'
import { onAccount, type Recorder } from './example-recorder.ts'

const onDevice = `${onAccount}/devices/{device_id}`
const onUser = `${onAccount}/users/{user_id}`

export const recordCalls = async (world: World, { record }: Recorder) => {
  const { acme, ada, uli, operator } = world
  const ids = { account_id: acme.id }

  const numbers = async () => {
    const inventory = await startInventory()
    try {
      await world.configure('number_manager', { carrier_modules: ['knm_local', 'knm_other'] })
      for (const name of ['number_manager.other', 'crossbar.phone_numbers'])
        await world.configure(name, { phonebook_url: inventory.url })
      const number = '+14155550150'
      const found = { country: 'US', e164_number: number, number, status: 'success' }
      const place = { carrier: { company: 'A carrier' }, locality: { locality: 'San Rafael' } }
      inventory.answer('POST /locality/metadata', { [number]: { ...found, ...place } })
      inventory.answer('GET /US/city', { 'San Rafael': { state: 'CA', prefixes: ['415'] } })
      await record(ada, `POST ${onAccount}/phone_numbers/locality`, ids, { data: { numbers: [number] } })
      await record(ada, `GET ${onAccount}/phone_numbers/prefix`, ids, { query: { city: 'San R' } })
      await stockNumbers(world.server.store, [{ number }])
      const one = { ...ids, phone_number: number }
      await record(operator, `PUT ${onAccount}/phone_numbers/{phone_number}/reserve`, one)
    } finally {
      await inventory.close()
    }
  }

  const calls = async () => {
    const edge = await startEdgeServer()
    try {
      const device = await world.device(acme, { sip: { username: 'desk' }, owner_id: uli.id })
      const address = `desk@${acme.realm}`
      const now = Math.floor(world.clock.now() / 1000)
      const contact = {
        Address: 'sip:desk@192.0.2.7:5060',
        Expires: 117,
        'Call-ID': 'registration-1',
        'User-Agent': 'A phone',
        Socket: 'udp:192.0.2.1:5060',
        'Last-Modified': now - 60,
      }
      const dialog = {
        h_entry: 7,
        h_id: 11,
        'call-id': 'a-call',
        from_uri: `sip:${address}`,
        to_uri: `sip:100@${acme.realm}`,
        state: 4,
        init_ts: now - 90,
        start_ts: now - 60,
        caller: { tag: 'one', contact: 'sip:desk@192.0.2.7:5060', cseq: '21', route_set: '', socket: '' },
        callee: { tag: 'other', contact: 'sip:100@192.0.2.8:5060', cseq: '0', route_set: '', socket: '' },
        variables: [{ account_id: acme.id }, { direction: 'outbound' }],
      }
      edge.says('ul.lookup', (_table, of) => {
        if (of !== address) throw new RpcError(500, 'AOR not found in location table')
        return { AoR: of, Contacts: [{ Contact: contact }] }
      })
      edge.says('dlg.profile_list', () => [dialog])
      edge.says('dlg.list_match', () => [])
      edge.says('dlg.dlg_list', () => dialog)
      for (const method of ['dlg.end_dlg', 'tm.cancel', 'tm.t_uac_start']) edge.says(method, () => 'ok')
      edge.says('tm.t_uac_wait', () => [486, 'Busy Here'])
      await world.configure('switch', { adapter: 'kamailio', kamailio: { rpc_urls: [edge.url] } })

      const phone = { ...ids, device_id: device.id, user_id: uli.id, number: '100' }
      const notice = {
        event: 'message-summary',
        body: { content_type: 'text/plain', data: 'Voice-Message: 2/1' },
      }
      await record(ada, `PUT ${onDevice}`, phone, { data: { action: 'notify', data: notice } })
      await record(ada, `POST ${onDevice}/sync`, phone)
      for (const place of [onDevice, onUser])
        for (const method of ['GET', 'POST'])
          await record(ada, `${method} ${place}/quickcall/{number}`, phone)
      const call = { ...phone, uuid: 'a-call' }
      for (const place of [onAccount, onDevice, onUser]) await record(ada, `GET ${place}/channels`, call)
      await record(ada, `GET ${onAccount}/channels/{uuid}`, call)
      await record(ada, `POST ${onAccount}/channels/{uuid}`, call, { data: { action: 'hangup' } })
      await record(ada, `GET ${onAccount}/registrations`, ids)
      await record(ada, `DELETE ${onAccount}/registrations/{username}`, { ...ids, username: 'desk' })
      await record(operator, 'GET /v2/edge/states', {})
    } finally {
      await edge.close()
    }
  }

  const records = async () => {
    const leg = {
      call_id: 'a-call',
      call_direction: 'inbound',
      timestamp: Math.floor(world.clock.now() / 1000) + 62_167_219_200,
      duration_seconds: 60,
      billing_seconds: 55,
      custom_channel_vars: { account_id: acme.id },
    }
    const upload = { type: 'application/x-ndjson', body: `${JSON.stringify(leg)}\n` }
    await record(operator, 'PUT /v2/cdrs', {}, { upload })
  }

  await records()
  await numbers()
  await calls()
}
