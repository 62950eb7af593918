// Targets in answers of the server have effect at Debian's Kamailio with the configuration that is shipped:
// every packet is real, and a fake server decides whom a call rings.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { headerOf, headersOf, outcomeOf } from '../support/phones/edge-messages.ts'
import type { Phone } from '../support/phones/edge-phone.ts'
import { realm, useSipTown } from '../support/phones/sip-town.ts'
import { eventually } from '../support/run/eventually.ts'
import { lacksKamailio } from '../support/servers/sip-edge.ts'
import { accountId, deviceOf } from '../support/servers/sip-server.ts'

describe.skipIf(lacksKamailio)(`a target at an edge${lacksKamailio}`, () => {
  const town = useSipTown()

  afterEach(() => expect(town.edge.complaints()).toEqual([]))

  const device = (username: string, more: Record<string, unknown> = {}) => ({
    type: 'device',
    device_id: deviceOf(username),
    username,
    realm,
    delay_s: 0,
    timeout_s: 20,
    ...more,
  })

  const gateway = (phone: Phone, more: Record<string, unknown> = {}) => ({
    type: 'gateway',
    resource_id: 'd'.repeat(32),
    uri: `sip:127.0.0.1:${phone.port}`,
    number: '0014155550123',
    delay_s: 0,
    timeout_s: 20,
    progress_timeout_s: 5,
    failover_codes: [503],
    ...more,
  })

  /** A call that is answered, and that its caller hangs up; returns the records of both legs. */
  const carried = async (ada: Phone, number: string, called: Phone, count = 1) => {
    const callId = `${randomUUID()}@phone`
    const calling = ada.call(number, { callId })
    const invite = await called.comesIn('INVITE', count)
    called.answer(invite, {}, `tag-${callId.slice(0, 8)}`)
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    expect((await ada.within(final, 'BYE')).status).toBe(200)
    return { invite, records: await town.server.records(callId) }
  }

  it('is shown its own caller id, and its record too, where that is not what the call shows', async () => {
    const [ada, bob, eve] = [
      await town.newPhone('ada'),
      await town.newPhone('bob'),
      await town.newPhone('eve'),
    ]
    const number = town.newNumber()
    const own = { name: 'Acme "A|B"', number: '+14155550200' }
    const targets = [device(bob.username), device(eve.username, { caller_id: own })]
    town.server.rings(number, [], realm, { targets, caller_id: { name: 'Ada', number: '200' } })
    const callId = `${randomUUID()}@phone`
    const calling = ada.phone.call(number, { callId })
    const ofBob = await bob.phone.comesIn('INVITE')
    expect(headerOf(ofBob, 'from')).toMatch(/^"Ada" ?<sip:200@acme\.test>;tag=/)
    bob.phone.answer(ofBob, { status: 180, phrase: 'Ringing' }, 'bobs')
    // The edge sends no CANCEL to a phone whose ringing response it has not received.
    await eventually(
      () => ada.phone.received.some(({ status }) => status === 180),
      (rings) => rings,
    )
    const ofEve = await eve.phone.comesIn('INVITE')
    expect(headerOf(ofEve, 'from')).toMatch(/^"Acme AB" ?<sip:\+14155550200@acme\.test>;tag=/)
    eve.phone.answer(ofEve, {}, 'eves')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    expect(headerOf(final, 'from')).toContain(`<sip:${ada.username}@${realm}>`)
    await bob.phone.comesIn('CANCEL')
    bob.phone.answer(ofBob, { status: 487, phrase: 'Request Terminated' }, 'bobs')
    expect((await ada.phone.within(final, 'BYE')).status).toBe(200)
    expect(headerOf(await eve.phone.comesIn('BYE'), 'from')).toContain('<sip:+14155550200@acme.test>')
    const [a, b] = await town.server.records(callId)
    expect([a.caller_id_name, a.caller_id_number]).toEqual(['Ada', '200'])
    expect([b.caller_id_name, b.caller_id_number]).toEqual(['Acme AB', '+14155550200'])
  })

  it('gets no header from control characters in a caller ID or a header of the target', async () => {
    const [ada, carrier] = [await town.newPhone('ada'), await town.newPhone('carrier')]
    const number = town.newNumber()
    const forged = 'Remote-Party-ID: <sip:911@acme.test>'
    const target = gateway(carrier.phone, {
      caller_id: { name: `Ann\r\n${forged}`, number: `200\n${forged}` },
      headers: { 'X-Good': 'yes', 'X-Bad': `no\r\n${forged}`, 'X-Lone': `no\n${forged}` },
    })
    town.server.rings(number, [], realm, { targets: [target] })
    const { invite, records } = await carried(ada.phone, number, carrier.phone)
    expect(headerOf(invite, 'from')).toMatch(/^"Ann +Remote-Party-ID: <sip:911@acme\.test>" ?<sip:200%20/)
    expect(headersOf(invite, 'x-good')).toEqual(['yes'])
    expect(headersOf(invite, 'remote-party-id')).toEqual([])
    expect(headersOf(invite, 'x-bad')).toEqual([])
    expect(headersOf(invite, 'x-lone')).toEqual([])
    for (const record of records) expect(JSON.stringify(record)).not.toMatch(/\\[rn]|\\u00[01]/)
  })

  it('is recorded as it is charged, whatever characters its number and its caller have', async () => {
    const [ada, outside] = [await town.newPhone('ada'), await town.newPhone('outside')]
    const number = town.newNumber()
    const target = device(outside.username, {
      uri: `sip:1|none@127.0.0.1:${outside.phone.port}`,
      called: '1|none',
      account_billing: 'per_minute',
      caller_id: { number: '2|00' },
    })
    town.server.rings(number, [], realm, { targets: [target] })
    const { records } = await carried(ada.phone, number, outside.phone)
    const [, leg] = records
    expect(leg.custom_channel_vars).toMatchObject({
      account_billing: 'per_minute',
      e164_destination: '1none',
    })
    expect(leg).toMatchObject({ caller_id_number: '200' })
  })

  it('that is a carrier is named to the server until its call is recorded', async () => {
    const [ada, carrier] = [await town.newPhone('ada'), await town.newPhone('carrier')]
    const number = town.newNumber()
    const targets = [gateway(carrier.phone, { called: number, account_billing: 'per_minute' })]
    town.server.rings(number, [], realm, { decision: 'offnet', targets })
    const callId = `${randomUUID()}@phone`
    const calling = ada.phone.call(number, { callId })
    carrier.phone.answer(await carrier.phone.comesIn('INVITE'), {}, 'gates')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    const namings = () =>
      town.server
        .to('/v2/edge/calls')
        .flatMap(({ json }) => json.data.calls)
        .filter((call) => call.call_id === callId && call.elapsed_s !== undefined).length
    await eventually(namings, (count) => count > 0)
    // The edge names its calls every 10 seconds, and Kamailio removes this one from the file 5 seconds after its end.
    await sleep(7000)
    expect(outcomeOf(await ada.phone.within(final, 'BYE'))).toBe('200 OK')
    await town.server.records(callId)
    const before = namings()
    await sleep(4500)
    expect(namings()).toBe(before)
  })

  it('is shown who calls by each carrier in turn, and one of them hides it', async () => {
    const [ada, broken, good] = [
      await town.newPhone('ada'),
      await town.newPhone('x'),
      await town.newPhone('y'),
    ]
    const number = town.newNumber()
    const hidden = { number: '+14155550202', privacy: 'full' }
    town.server.rings(number, [], realm, {
      decision: 'offnet',
      caller_id: { number: '+14155550201' },
      targets: [gateway(broken.phone), gateway(good.phone, { caller_id: hidden })],
    })
    const calling = ada.phone.call(number)
    const first = await broken.phone.comesIn('INVITE')
    expect(headersOf(first, 'p-asserted-identity')).toEqual([`<sip:+14155550201@${realm}>`])
    broken.phone.answer(first, { status: 503, phrase: 'Full' }, 'x')
    const second = await good.phone.comesIn('INVITE')
    expect(headersOf(second, 'p-asserted-identity')).toEqual([`<sip:+14155550202@${realm}>`])
    expect(headerOf(second, 'privacy')).toBe('id')
    expect(headerOf(second, 'from')).toMatch(/^"Anonymous" ?<sip:anonymous@anonymous\.invalid>;tag=/)
    good.phone.answer(second, {}, 'y')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    expect((await ada.phone.within(final, 'BYE')).status).toBe(200)
  })

  it('of another account has the record of its leg there, and the call counts among those of that account', async () => {
    const [ada, bob] = [await town.newPhone('ada'), await town.newPhone('bob')]
    const [number, further] = [town.newNumber(), town.newNumber()]
    const other = '8'.repeat(32)
    town.server.rings(number, [], realm, { targets: [device(bob.username, { account_id: other })] })
    town.server.rings(further, [ada.username], realm, { account_id: other, limits: { calls: 1 } })
    const callId = `${randomUUID()}@phone`
    const calling = ada.phone.call(number, { callId })
    bob.phone.answer(await bob.phone.comesIn('INVITE'), {}, 'bobs')
    const final = await calling
    expect(outcomeOf(await bob.phone.call(further))).toBe('486 Busy Here')
    expect((await ada.phone.within(final, 'BYE')).status).toBe(200)
    const [a, b] = await town.server.records(callId)
    expect([a.custom_channel_vars.account_id, b.custom_channel_vars.account_id]).toEqual([accountId, other])
    expect(a.interaction_id).toBe(b.interaction_id)
  })

  it('that is a carrier is not called if the server has nothing left to reserve, but for emergencies', async () => {
    const [ada, max, carrier] = [
      await town.newPhone('ada'),
      await town.newPhone('max'),
      await town.newPhone('x'),
    ]
    const [number, emergency, inside] = [town.newNumber(), town.newNumber(), town.newNumber()]
    const limited = { account_id: '7'.repeat(32) }
    const out = { ...limited, decision: 'offnet', targets: [gateway(carrier.phone, { global: true })] }
    town.server.rings(number, [], realm, out)
    town.server.rings(emergency, [], realm, { ...out, emergency: true })
    town.server.rings(inside, [ada.username], realm, limited)
    const callId = `${randomUUID()}@phone`
    const calling = ada.phone.call(number, { callId })
    carrier.phone.answer(await carrier.phone.comesIn('INVITE'), {}, 'one')
    const first = await calling
    expect(outcomeOf(first)).toBe('200 OK')
    town.server.exhausted.set(limited.account_id, 'limit_reached')
    expect(outcomeOf(await max.phone.call(number))).toBe('486 Busy Here')
    expect((await town.server.refusals('limit_reached')).length).toBeGreaterThan(0)
    town.server.exhausted.set(limited.account_id, 'no_credit')
    expect(outcomeOf(await max.phone.call(number))).toBe('402 Payment Required')
    const within = max.phone.call(inside)
    ada.phone.answer(await ada.phone.comesIn('INVITE'), {}, 'adas')
    const answered = await within
    expect(outcomeOf(answered)).toBe('200 OK')
    await max.phone.within(answered, 'BYE')
    const urgent = max.phone.call(emergency)
    carrier.phone.answer(await carrier.phone.comesIn('INVITE', 2), {}, 'two')
    const second = await urgent
    expect(outcomeOf(second)).toBe('200 OK')
    for (const [phone, final] of [
      [ada.phone, first],
      [max.phone, second],
    ] as const)
      expect((await phone.within(final, 'BYE')).status).toBe(200)
    town.server.exhausted.delete(limited.account_id)
    await carried(max.phone, number, carrier.phone, 3)
    const [, b] = await town.server.records(callId)
    expect(b.custom_channel_vars).toEqual({
      account_id: limited.account_id,
      authorizing_type: 'resource',
      resource_id: 'd'.repeat(32),
      resource_type: 'offnet-termination',
      global_resource: true,
    })
  })

  it('that is paid for is not called if nothing is left to reserve, while other phones of the call ring', async () => {
    const [ada, max, bob, away] = [
      await town.newPhone('ada'),
      await town.newPhone('max'),
      await town.newPhone('bob'),
      await town.newPhone('away'),
    ]
    const [mixed, alone] = [town.newNumber(), town.newNumber()]
    const paid = device(away.username, {
      uri: `sip:${away.username}@127.0.0.1:${away.phone.port}`,
      called: away.username,
      account_billing: 'per_minute',
    })
    const limited = { account_id: '6'.repeat(32) }
    town.server.exhausted.set(limited.account_id, 'limit_reached')
    town.server.rings(mixed, [], realm, { ...limited, targets: [paid, device(bob.username)] })
    town.server.rings(alone, [], realm, { ...limited, targets: [paid] })
    const calling = ada.phone.call(mixed)
    bob.phone.answer(await bob.phone.comesIn('INVITE'), {}, 'bobs')
    const answered = await calling
    expect(outcomeOf(answered)).toBe('200 OK')
    expect(outcomeOf(await max.phone.call(alone))).toBe('486 Busy Here')
    town.server.exhausted.delete(limited.account_id)
    await carried(max.phone, alone, away.phone)
    expect((await ada.phone.within(answered, 'BYE')).status).toBe(200)
  })

  it('that is a carrier for another account has its record and its limit there', async () => {
    const [ada, max, carrier] = [
      await town.newPhone('ada'),
      await town.newPhone('max'),
      await town.newPhone('x'),
    ]
    const [number, ofOther] = [town.newNumber(), town.newNumber()]
    const [mine, other] = ['4'.repeat(32), '5'.repeat(32)]
    const route = (account_id: string, more: Record<string, unknown> = {}) => ({
      decision: 'forward',
      account_id,
      targets: [gateway(carrier.phone, more)],
    })
    town.server.rings(number, [], realm, route(mine, { account_id: other }))
    town.server.rings(ofOther, [], realm, route(other))
    town.server.exhausted.set(mine, 'limit_reached')
    const callId = `${randomUUID()}@phone`
    const calling = ada.phone.call(number, { callId })
    carrier.phone.answer(await carrier.phone.comesIn('INVITE'), {}, 'one')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    town.server.exhausted.set(other, 'limit_reached')
    expect(outcomeOf(await max.phone.call(ofOther))).toBe('486 Busy Here')
    town.server.exhausted.delete(other)
    expect((await ada.phone.within(final, 'BYE')).status).toBe(200)
    const [a, b] = await town.server.records(callId)
    expect([a.custom_channel_vars.account_id, b.custom_channel_vars.account_id]).toEqual([mine, other])
    await carried(max.phone, ofOther, carrier.phone, 2)
    town.server.rings(number, [], realm, route(mine))
    expect(outcomeOf(await ada.phone.call(number))).toBe('486 Busy Here')
  })

  it('is offered the codecs that it takes, and has the headers that it wants', async () => {
    const [ada, carrier] = [await town.newPhone('ada'), await town.newPhone('x')]
    const number = town.newNumber()
    const headers = { 'X-One': 'a "b"; c', 'X-Two': "it's", 'X-Bad': 'a\r\nEvil: yes' }
    const route = (codecs: string[]) =>
      town.server.rings(number, [], realm, {
        decision: 'offnet',
        targets: [gateway(carrier.phone, { codecs, headers })],
      })
    const lines = ['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0']
    const offer = ['m=audio 40000 RTP/AVP 9 0 8 101', 'a=rtpmap:101 telephone-event/8000', '']
    const body = [...lines, ...offer].join('\r\n')
    const offered = async (codecs: string[], count: number) => {
      route(codecs)
      const calling = ada.phone.call(number, { body })
      const invite = await carrier.phone.comesIn('INVITE', count)
      carrier.phone.answer(invite, { status: 486, phrase: 'Busy Here' }, `x${count}`)
      expect((await calling).status).toBe(486)
      return invite
    }
    const invite = await offered(['PCMU', 'PCMA'], 1)
    expect(invite.body).toContain('m=audio 40000 RTP/AVP 0 8 101\r\n')
    expect(headerOf(invite, 'x-one')).toBe('a "b"; c')
    expect(headerOf(invite, 'x-two')).toBe("it's")
    expect([headerOf(invite, 'x-bad'), headerOf(invite, 'evil')]).toEqual([undefined, undefined])
    expect((await offered(['G729'], 2)).body).toBe(body)
    expect((await offered(['G729'], 3)).body).toBe(body)
  })

  it('that is the server of a trunk is recorded as such', async () => {
    const [ada, pbx] = [await town.newPhone('ada'), await town.newPhone('pbx')]
    const number = town.newNumber()
    const target = {
      type: 'trunk',
      trunk_id: '6'.repeat(32),
      server: 'Head office',
      username: pbx.username,
      realm,
      number: '4155550100',
      headers: { 'X-Trunk': 'yes' },
      delay_s: 0,
      timeout_s: 20,
    }
    town.server.rings(number, [], realm, { targets: [target] })
    const { invite, records } = await carried(ada.phone, number, pbx.phone)
    expect(headerOf(invite, 'x-trunk')).toBe('yes')
    expect(records[1].custom_channel_vars).toEqual({
      account_id: accountId,
      authorizing_id: '6'.repeat(32),
      authorizing_type: 'trunk',
      trunk_server: 'Head office',
    })
  })

  it('that is the next place of a trunk is called when the server does not take the call, or is not there', async () => {
    const [ada, pbx, spare] = [
      await town.newPhone('ada'),
      await town.newPhone('pbx'),
      await town.newPhone('spare'),
    ]
    const trunk = { type: 'trunk', trunk_id: '6'.repeat(32), server: 'PBX', number: '1', timeout_s: 20 }
    const at = ({ port }: Pick<Phone, 'port'>) => `sip:127.0.0.1:${port}`
    const place = { ...trunk, uri: at(spare.phone), number: 'desk', delay_s: 20, timeout_s: 120 }
    const number = town.newNumber()
    const [first, silent] = [{ uri: at(pbx.phone) }, { uri: at({ port: 9 }), progress_timeout_s: 1 }]
    const route = (more: Record<string, unknown>) =>
      town.server.rings(number, [], realm, { targets: [{ ...trunk, delay_s: 0, ...more }, place] })
    route(first)
    const calling = ada.phone.call(number)
    pbx.phone.answer(await pbx.phone.comesIn('INVITE'), { status: 480, phrase: 'Nobody' }, 'pbxs')
    const invite = await spare.phone.comesIn('INVITE')
    expect(invite.uri).toBe(`sip:desk@127.0.0.1:${spare.phone.port}`)
    spare.phone.answer(invite, { status: 486, phrase: 'Busy Here' }, 'spares')
    expect((await calling).status).toBe(486)
    route(silent)
    const { invite: later } = await carried(ada.phone, number, spare.phone, 2)
    expect(later.uri).toBe(invite.uri)
  })
})
