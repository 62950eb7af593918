// Calls in progress, as real edges report them: between real phones, where a SIP proxy for them is installed.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { type SipPhone, startSipPhone } from '../support/phones/sip-phone.ts'
import { eventually } from '../support/run/eventually.ts'
import { type EdgeServer, RpcError, startEdgeServer } from '../support/servers/edge-server.ts'
import { lacks } from '../support/servers/installed.ts'
import { callHeaders, type Kamailio, startKamailio } from '../support/servers/kamailio.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const lacking = lacks('kamailio')

describeAnyEngine('channels without a media switch', (engine) => {
  const world = useWorld(engine)

  it('are empty lists', async () => {
    const { ada, acme } = world
    const device = await world.device(acme)
    const path = `${acme.path}/channels`
    for (const place of [path, `${device.path}/channels`, `${ada.path}/channels`])
      expect(await ada.get(place)).toSucceedWith([])
    expect((await ada.get(path)).body.metadata).toEqual({ edges: 0 })
    const unknown = [404, 'bad_identifier', { message: 'bad identifier', cause: 'some-call' }] as const
    expect(await ada.get(`${path}/some-call`)).toFailWith(...unknown)
    expect(await ada.post(`${path}/some-call`, { action: 'hangup' })).toFailWith(...unknown)
  })
})

describeAnyEngine('channels of edges', (engine) => {
  const world = useWorld(engine)
  let first: EdgeServer
  let second: EdgeServer

  const dialog = (callId: string, account: TestAccount, fields: Json = {}) => ({
    h_entry: 7,
    h_id: 11,
    'call-id': callId,
    from_uri: `sip:desk@${account.realm}`,
    to_uri: `sip:100@${account.realm}`,
    state: 4,
    init_ts: 1_767_614_400 - 90,
    start_ts: 1_767_614_400 - 60,
    caller: { tag: 'one', contact: 'sip:desk@192.0.2.7:5060', cseq: '21', route_set: '', socket: '' },
    callee: {
      tag: 'other',
      contact: 'sip:100@192.0.2.8:5060;alias=1',
      cseq: '0',
      route_set: '<sip:192.0.2.9;lr>,<sip:192.0.2.10;lr>',
      socket: 'udp:192.0.2.1:5060',
    },
    variables: [{ account_id: account.id }, { direction: 'outbound' }],
    ...fields,
  })

  beforeAll(async () => {
    first = await startEdgeServer()
    second = await startEdgeServer()
    await world.configure('switch', {
      adapter: 'kamailio',
      kamailio: { rpc_urls: [first.url, second.url], timeout_ms: 3000 },
    })
  })
  afterAll(() => Promise.all([first.close(), second.close()]))

  const knows = (edge: EdgeServer, dialogs: readonly object[]) => {
    edge.says('dlg.profile_list', () => {
      throw new RpcError(404, 'Profile not found: account')
    })
    edge.says('dlg.list', () => dialogs)
    edge.says(
      'dlg.dlg_list',
      (callId) => dialogs.find((one) => 'call-id' in one && one['call-id'] === callId) ?? {},
    )
    edge.says('dlg.end_dlg', () => ({}))
    edge.says('tm.cancel', () => 'ok')
    edge.says('tm.t_uac_start', () => 'ok')
  }

  it('are listed as the edges report them, only those of the account', async () => {
    const { acme, ada, rival } = world
    knows(first, [
      dialog('answered', acme, {
        variables: [
          { account_id: acme.id },
          { direction: 'outbound' },
          { authorizing_id: 'd'.repeat(32) },
          { authorizing_type: 'device' },
          { interaction_id: '63934833600-abc' },
          { to_number: '+14155550100' },
        ],
      }),
      dialog('foreign', rival),
      dialog('nobodys', acme, { variables: [] }),
      dialog('over', acme, { state: 5 }),
    ])
    knows(second, [dialog('ringing', acme, { state: 2, start_ts: 0, init_ts: 1_767_614_400 - 5 })])
    const gregorian = 62_167_219_200 + 1_767_614_400
    const answered = {
      uuid: 'answered',
      answered: true,
      direction: 'outbound',
      from: `sip:desk@${acme.realm}`,
      to: `sip:100@${acme.realm}`,
      destination: '+14155550100',
      username: 'desk',
      authorizing_id: 'd'.repeat(32),
      authorizing_type: 'device',
      bridge_id: '63934833600-abc',
      interaction_id: '63934833600-abc',
      timestamp: gregorian - 90,
      elapsed_s: 60,
      node: first.host,
    }
    const ringing = {
      uuid: 'ringing',
      answered: false,
      bridge_id: 'ringing',
      direction: 'outbound',
      from: `sip:desk@${acme.realm}`,
      to: `sip:100@${acme.realm}`,
      destination: '100',
      username: 'desk',
      timestamp: gregorian - 5,
      elapsed_s: 0,
      node: second.host,
    }
    const path = `${acme.path}/channels`
    expect(await ada.get(path)).toSucceedWith([answered, ringing])
    expect(await ada.get(`${path}/ringing`)).toSucceedWith(ringing)
    second.hangUp()
    const { data, body } = await ada.get(path)
    expect(data).toEqual([answered])
    expect(body.metadata).toEqual({ unreachable: [second.host] })
    second.speak()
    // An edge that responds again is queried for lists again.
    for (const callId of ['foreign', 'nobodys', 'over', 'unknown'])
      expect(await ada.get(`${path}/${callId}`)).toFailWith(404, 'bad_identifier')
    expect(await world.rex.get(path)).toFailWith(403, 'forbidden')
  })

  it('of other users are not ended by ordinary users, who end their own', async () => {
    const { acme } = world
    const [one, other] = [await world.user(acme), await world.user(acme)]
    const ofUser = (callId: string, { id }: { id: string }) =>
      dialog(callId, acme, { variables: [{ account_id: acme.id }, { owner_id: id }] })
    knows(first, [ofUser('own', one), ofUser('foreign', other), dialog('shared', acme)])
    knows(second, [])
    first.calls.length = 0
    const path = `${acme.path}/channels`
    for (const callId of ['foreign', 'shared', 'unknown'])
      expect(await world.refused(() => one.post(`${path}/${callId}`, { action: 'hangup' }))).toFailWith(
        403,
        'forbidden',
      )
    expect(first.told('dlg.end_dlg')).toEqual([])
    expect(await one.post(`${path}/own`, { action: 'hangup' })).toSucceedWith('hangup sent', 202)
    expect(first.told('dlg.end_dlg')).toHaveLength(1)
  })

  it('are also those of the device that answers, and its user ends them', async () => {
    const { acme, ada } = world
    const [one, other] = [await world.user(acme), await world.user(acme)]
    const device = await world.device(acme, { owner_id: one.id })
    const answeredBy = (callId: string, leg: string, fields: Json = {}) =>
      dialog(callId, acme, { variables: [{ account_id: acme.id }, { leg }], ...fields })
    const ofDevice = `device|${device.id}|${one.id}|desk|${acme.id}|sip:desk@${acme.realm}`
    knows(first, [
      answeredBy('incoming', ofDevice),
      answeredBy('ringing', ofDevice, { state: 2 }),
      answeredBy('trunk', `trunk|${device.id}||desk|${acme.id}|`),
      answeredBy('carrier', `gateway|${device.id}||+49301|`),
    ])
    knows(second, [])
    first.calls.length = 0
    for (const path of [device.path, one.path])
      expect((await ada.get(`${path}/channels`)).data).toMatchObject([{ uuid: 'incoming' }])
    const path = `${acme.path}/channels`
    const hangup = { action: 'hangup' }
    expect(await world.refused(() => other.post(`${path}/incoming`, hangup))).toFailWith(403, 'forbidden')
    for (const callId of ['ringing', 'trunk', 'carrier'])
      expect(await world.refused(() => one.post(`${path}/${callId}`, hangup))).toFailWith(403, 'forbidden')
    expect(first.told('dlg.end_dlg')).toEqual([])
    expect(await one.post(`${path}/incoming`, hangup)).toSucceedWith('hangup sent', 202)
    expect(first.told('dlg.end_dlg')).toHaveLength(1)
  })

  it('that are not found while an edge does not answer may be there, for everyone', async () => {
    const { acme, ada } = world
    const one = await world.user(acme)
    knows(first, [dialog('own', acme, { variables: [{ account_id: acme.id }, { owner_id: one.id }] })])
    knows(second, [])
    first.calls.length = 0
    const path = `${acme.path}/channels`
    const hangup = { action: 'hangup' }
    const unreachable = [
      503,
      'media_switch_unreachable',
      {
        message: 'no SIP edge responded. See data.edges for each error',
        edges: [{ host: second.host, reason: 'did not answer' }],
      },
    ] as const
    second.hangUp()
    for (const user of [one, ada])
      expect(await world.refused(() => user.post(`${path}/elsewhere`, hangup))).toFailWith(...unreachable)
    expect(await ada.get(`${path}/elsewhere`)).toFailWith(...unreachable)
    expect(await ada.get(`${path}/own`)).toSucceed()
    expect(first.told('dlg.end_dlg')).toEqual([])
    expect(await one.post(`${path}/own`, hangup)).toSucceedWith('hangup sent', 202)
    second.speak()
    // An edge that responds again is queried for lists again.
    expect(await ada.get(`${path}/elsewhere`)).toFailWith(404, 'bad_identifier')
  })

  it('end when an admin of the account hangs up, and ringing ones are cancelled', async () => {
    const { acme, ada, rival } = world
    knows(first, [dialog('answered', acme), dialog('foreign', rival)])
    knows(second, [dialog('ringing', acme, { state: 2 })])
    const path = `${acme.path}/channels`
    for (const edge of [first, second]) edge.calls.length = 0
    expect(await ada.post(`${path}/answered`, { action: 'transfer' })).toFailWith(400, 'invalid action')
    expect(await ada.post(`${path}/answered`, {})).toBreak({ action: ['required'] })
    for (const callId of ['foreign', 'unknown'])
      expect(await ada.post(`${path}/${callId}`, { action: 'hangup' })).toFailWith(404, 'bad_identifier')
    expect(await world.rex.post(`${path}/answered`, { action: 'hangup' })).toFailWith(403, 'forbidden')
    expect([...first.told('dlg.end_dlg'), ...second.told('tm.cancel')]).toEqual([])
    expect(await ada.post(`${path}/answered`, { action: 'hangup' })).toSucceedWith('hangup sent', 202)
    expect(await ada.post(`${path}/ringing`, { action: 'hangup' })).toSucceedWith('hangup sent', 202)
    expect(first.told('dlg.end_dlg')).toEqual([[7, 11]])
    expect(first.told('tm.t_uac_start')).toEqual([
      [
        'BYE',
        'sip:100@192.0.2.8:5060;alias=1',
        'sip:192.0.2.9;lr',
        'udp:192.0.2.1:5060',
        [
          'Route: <sip:192.0.2.9;lr>,<sip:192.0.2.10;lr>',
          `From: <sip:desk@${acme.realm}>;tag=one`,
          `To: <sip:100@${acme.realm}>;tag=other`,
          'Call-ID: answered',
          'CSeq: 23 BYE',
          'Contact: <sip:edge@!!>',
          '',
        ].join('\r\n'),
        '',
      ],
    ])
    expect(second.told('tm.cancel')).toEqual([['ringing', '21']])
    second.says('tm.cancel', () => {
      throw new RpcError(400, 'Transaction not found')
    })
    expect(await ada.post(`${path}/ringing`, { action: 'hangup' })).toFailWith(404, 'bad_identifier')
  })
})

for (const hasProfiles of [true, false]) {
  const kept = hasProfiles ? 'that keeps calls by account' : 'that keeps no list of an account'
  describe.skipIf(lacking)(`with a Kamailio ${kept}${lacking}`, () => {
    describeAnyEngine('channels of telephones', (engine) => {
      const world = useWorld(engine)
      const phones: SipPhone[] = []
      let edge: Kamailio

      beforeAll(async () => {
        edge = await startKamailio({ hasProfiles })
        await world.configure('switch', {
          adapter: 'kamailio',
          kamailio: { rpc_urls: [edge.url], timeout_ms: 3000, secret: edge.secret },
        })
      })
      afterAll(async () => {
        for (const phone of phones) phone.close()
        await edge.close()
      })

      const telephone = async (account: TestAccount, username: string) => {
        const phone = await startSipPhone({ username, realm: account.realm, server: edge })
        phones.push(phone)
        await phone.register()
        return phone
      }

      const equipped = async () => {
        const account = await world.account(world.reseller)
        const owner = await world.user(account)
        const caller = await world.device(account, { sip: { username: 'desk' } })
        const called = await world.device(account, { owner_id: owner.id, sip: { username: 'hall' } })
        const idle = await world.device(account, { sip: { username: 'idle' } })
        const says = [
          [callHeaders.account_id, account.id],
          [callHeaders.authorizing_id, caller.id],
          [callHeaders.authorizing_type, 'device'],
          [callHeaders.direction, 'inbound'],
        ] as const
        const [desk, hall] = [await telephone(account, 'desk'), await telephone(account, 'hall')]
        return { account, owner, caller, called, idle, desk, hall, says, admin: await world.admin(account) }
      }

      const idsOf = ({ data }: { data: unknown }) => (data as Json[]).map(({ uuid }) => uuid)

      it('are listed for the calling and for the called devices and users', async () => {
        const { account, owner, caller, called, idle, desk, says, admin } = await equipped()
        const stranger = await equipped()
        const call = await desk.call('hall', says)
        const other = await stranger.desk.call('hall', stranger.says)
        expect(idsOf(await admin.get(`${account.path}/channels`))).toEqual([call.callId])
        for (const { path } of [caller, called, owner])
          expect(idsOf(await admin.get(`${path}/channels`))).toEqual([call.callId])
        for (const { path } of [idle, admin]) expect(idsOf(await admin.get(`${path}/channels`))).toEqual([])
        const one = await admin.get(`${account.path}/channels/${encodeURIComponent(call.callId)}`)
        expect(one.data).toMatchObject({
          uuid: call.callId,
          answered: true,
          authorizing_id: caller.id,
          destination: 'hall',
        })
        const foreign = `${account.path}/channels/${encodeURIComponent(other.callId)}`
        expect(await admin.get(foreign)).toFailWith(404, 'bad_identifier')
        expect(await admin.post(foreign, { action: 'hangup' })).toFailWith(404, 'bad_identifier')
        expect(other.isEnded).toBe(false)
        await Promise.all([call.hangUp(), other.hangUp()])
        await eventually(
          async () => idsOf(await admin.get(`${account.path}/channels`)),
          (ids) => ids.length === 0,
        )
      })

      it('end for both who speak, and for one whose call rings', async () => {
        const { account, desk, hall, says, admin } = await equipped()
        const pathOf = (callId: string) => `${account.path}/channels/${encodeURIComponent(callId)}`
        const call = await desk.call('hall', says)
        expect(await admin.post(pathOf(call.callId), { action: 'hangup' })).toSucceed(202)
        await eventually(
          () => [call.isEnded, hall.calls[0]?.isEnded],
          (ended) => ended.every(Boolean),
        )
        // The edge may not notify the called phone, so the server does.
        await eventually(
          () => hall.requests('BYE').map((bye) => bye.value('CSeq')),
          (numbers) => numbers.includes('3 BYE'),
        )
        hall.takes('ring')
        const attempt = desk.call('hall', says)
        const ringing = await eventually(
          async () => idsOf(await admin.get(`${account.path}/channels`)),
          (ids) => ids.length === 1 && ids[0] !== call.callId,
        )
        expect(await admin.post(pathOf(String(ringing[0])), { action: 'hangup' })).toSucceed(202)
        expect((await attempt).status).toBe(487)
        await eventually(
          () => hall.calls[1]?.status,
          (status) => status === 487,
        )
      })
    })
  })
}
