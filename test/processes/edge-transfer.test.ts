// Transfers between phones at Debian's Kamailio with the configuration that is shipped: every packet is real.
import { afterEach, describe, expect, it } from 'vitest'
import { freshToken, headerOf, outcomeOf, type SipMessage } from '../support/phones/edge-messages.ts'
import { openPhone, type Phone } from '../support/phones/edge-phone.ts'
import { realm, useSipTown } from '../support/phones/sip-town.ts'
import { eventually } from '../support/run/eventually.ts'
import { lacksKamailio } from '../support/servers/sip-edge.ts'
import { accountId, deviceOf, rivalId, rivalRealm } from '../support/servers/sip-server.ts'

const invitesAt = (phone: Phone) => phone.received.filter(({ method }) => method === 'INVITE')

describe.skipIf(lacksKamailio)(`a transfer at an edge${lacksKamailio}`, () => {
  const town = useSipTown()

  afterEach(() => expect(town.edge.complaints()).toEqual([]))

  type Made = Awaited<ReturnType<typeof town.newPhone>>

  interface Call {
    number: string
    callId: string
    callerTag: string
    calledTag: string
    invite: SipMessage
    final: SipMessage
  }

  /** An established call. */
  const call = async (from: Made, to: Made, route: Record<string, unknown> = {}): Promise<Call> => {
    const [callId, callerTag, calledTag] = [`${freshToken()}@phone`, freshToken(), freshToken()]
    const number = town.newNumber()
    town.server.rings(number, [to.username], realm, route)
    const before = invitesAt(to.phone).length
    const calling = from.phone.call(number, { callId, fromTag: callerTag })
    const invite = await to.phone.comesIn('INVITE', before + 1)
    to.phone.answer(invite, {}, calledTag)
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    // An edge that is killed before it has carried the ACK cannot end the call.
    await eventually(
      () => to.phone.received.some((one) => one.method === 'ACK' && headerOf(one, 'call-id') === callId),
      Boolean,
    )
    return { number, callId, callerTag, calledTag, invite, final }
  }

  /**
   * The Replaces header of a phone that takes over the side of `others` towards the phone with the other tag.
   */
  const replacing = ({ callId }: Call, holders: string, others: string) =>
    `${callId};to-tag=${holders};from-tag=${others}`

  const takeOver = (phone: Phone, replaces: string, callId = `${freshToken()}@phone`) =>
    phone.call('carol', { callId, headers: [['Replaces', replaces]] })

  it('rings the consulted phone, whose call with the transferring phone ends; the new call is in the records', async () => {
    const [ada, bob, carol] = [
      await town.newPhone('ada'),
      await town.newPhone('bob'),
      await town.newPhone('carol'),
    ]
    const first = await call(ada, bob)
    const second = await call(ada, carol)
    const replaces = replacing(second, second.calledTag, second.callerTag)
    const target = `<sip:carol@${realm}?Replaces=${encodeURIComponent(replaces)}>`
    const referring = ada.phone.within(first.final, 'REFER', [['Refer-To', target]])
    const refer = await bob.phone.comesIn('REFER')
    expect(headerOf(refer, 'refer-to')).toBe(target)
    bob.phone.answer(refer, { status: 202, phrase: 'Accepted' }, first.calledTag)
    expect((await referring).status).toBe(202)

    const callId = `${freshToken()}@phone`
    const calling = takeOver(bob.phone, replaces, callId)
    const invite = await carol.phone.comesIn('INVITE', 2)
    expect(headerOf(invite, 'replaces')).toBe(replaces)
    carol.phone.answer(invite, {}, 'carols')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    expect((await carol.phone.withinAnswered(second.invite, 'BYE', second.calledTag)).status).toBe(200)
    await ada.phone.comesIn('BYE')
    expect((await ada.phone.within(first.final, 'BYE')).status).toBe(200)
    await bob.phone.comesIn('BYE')
    expect((await bob.phone.within(final, 'INFO')).status).toBe(405)
    expect((await bob.phone.within(final, 'BYE')).status).toBe(200)
    const [a, b] = await town.server.records(callId)
    expect(a).toMatchObject({ call_id: callId, hangup_cause: 'NORMAL_CLEARING', digits_dialed: 'carol' })
    expect([a.custom_channel_vars, b.custom_channel_vars]).toEqual(
      [bob, carol].map(({ username }) => ({
        account_id: accountId,
        authorizing_id: deviceOf(username),
        authorizing_type: 'device',
      })),
    )
    const { interaction_id } = a
    for (const { callId: of } of [first, second])
      expect((await town.server.records(of)).map((one) => one.interaction_id)).toEqual([
        interaction_id,
        interaction_id,
      ])
    expect(b.interaction_id).toBe(interaction_id)
  })

  it.each(['caller', 'called'] as const)(
    'that is blind is one interaction, if the %s phone transfers',
    async (who) => {
      const [ada, bob, carol] = [
        await town.newPhone('ada'),
        await town.newPhone('bob'),
        await town.newPhone('carol'),
      ]
      const first = await call(ada, bob)
      const number = town.newNumber()
      town.server.rings(number, [carol.username], realm)
      const target: [string, string] = ['Refer-To', `<sip:${number}@${realm}>`]
      const [by, to] = who === 'caller' ? [ada, bob] : [bob, ada]
      const referring =
        who === 'caller'
          ? ada.phone.within(first.final, 'REFER', [target])
          : bob.phone.withinAnswered(first.invite, 'REFER', first.calledTag, [target])
      const accepted = { status: 202, phrase: 'Accepted' }
      to.phone.answer(
        await to.phone.comesIn('REFER'),
        accepted,
        who === 'caller' ? first.calledTag : undefined,
      )
      expect((await referring).status).toBe(202)
      const callId = `${freshToken()}@phone`
      // Some phones call under the number that they were called by.
      const from = who === 'caller' ? first.number : to.username
      const calling = to.phone.call(number, { callId, from })
      carol.phone.answer(await carol.phone.comesIn('INVITE'), {}, 'carols')
      const final = await calling
      expect(outcomeOf(final)).toBe('200 OK')
      expect((await ada.phone.within(first.final, 'BYE')).status).toBe(200)
      expect((await to.phone.within(final, 'BYE')).status).toBe(200)
      // A call without a REFER is its own interaction.
      const other = `${freshToken()}@phone`
      const again = by.phone.call(number, { callId: other })
      carol.phone.answer(await carol.phone.comesIn('INVITE', 2), {}, 'carols2')
      expect((await by.phone.within(await again, 'BYE')).status).toBe(200)
      const [one, two, three] = await Promise.all(
        [first.callId, callId, other].map((id) => town.server.records(id)),
      )
      const ids = (records: { interaction_id: string }[] = []) => records.map((each) => each.interaction_id)
      expect(new Set([...ids(one), ...ids(two)]).size).toBe(1)
      expect(ids(three)).not.toContain(ids(one)[0])
      expect(two?.[0]).toMatchObject({
        from: `${from}@${realm}`,
        caller_id_number: to.username,
        custom_channel_vars: { authorizing_id: deviceOf(to.username) },
      })
    },
  )

  it('leaves the contacts of both phones usable, if one takes the contact of a response to REFER', async () => {
    const [ada, bob] = [await town.newPhone('ada'), await town.newPhone('bob')]
    const number = town.newNumber()
    town.server.rings(number, [bob.username], realm)
    // An address behind a NAT.
    const contact = `<sip:bob@192.0.2.9:5060>`
    const calling = ada.phone.call(number)
    bob.phone.answer(await bob.phone.comesIn('INVITE'), { contact }, 'bobs')
    const final = await calling
    const referring = ada.phone.within(final, 'REFER', [['Refer-To', `sip:carol@${realm}`]])
    bob.phone.answer(await bob.phone.comesIn('REFER'), { status: 202, phrase: 'Accepted', contact }, 'bobs')
    const accepted = await referring
    const headers = final.headers.map(([name, value]) =>
      name === 'contact' ? ([name, headerOf(accepted, 'contact') ?? ''] as const) : ([name, value] as const),
    )
    expect(outcomeOf(await ada.phone.within({ ...final, headers }, 'BYE'))).toBe('200 OK')
    await bob.phone.comesIn('BYE')
  })

  it('also reaches the caller of the call that is taken over, even after the edge has crashed', async () => {
    const [ada, bob, carol] = [
      await town.newPhone('ada'),
      await town.newPhone('bob'),
      await town.newPhone('carol'),
    ]
    const held = await call(carol, ada)
    await town.edge.stop('SIGKILL')
    await town.edge.start()
    const calling = takeOver(bob.phone, replacing(held, held.callerTag, held.calledTag))
    const invite = await carol.phone.comesIn('INVITE')
    carol.phone.answer(invite, {}, 'carols')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    expect(invitesAt(ada.phone)).toHaveLength(1)
    expect((await carol.phone.within(held.final, 'BYE')).status).toBe(200)
    expect((await bob.phone.within(final, 'BYE')).status).toBe(200)
  })

  it('takes over no call of another account, of a carrier, that rings still, or that there is not', async () => {
    const [ada, bob, carol] = [
      await town.newPhone('ada'),
      await town.newPhone('bob'),
      await town.newPhone('carol'),
    ]
    const rival = await town.newPhone('rival', rivalRealm)
    const held = await call(ada, carol)
    const foreign = await call(ada, carol, {
      targets: [
        { type: 'device', device_id: 'x', username: carol.username, realm, account_id: rivalId, delay_s: 0 },
      ],
    })
    const outside = await call(ada, carol, {
      decision: 'offnet',
      targets: [
        {
          type: 'gateway',
          resource_id: 'd'.repeat(32),
          uri: `sip:127.0.0.1:${carol.phone.port}`,
          number: '1',
          delay_s: 0,
        },
      ],
    })
    const early = { callId: `${freshToken()}@phone`, fromTag: freshToken() }
    const number = town.newNumber()
    town.server.rings(number, [carol.username], realm)
    const ringing = ada.phone.call(number, early)
    const rings = await carol.phone.comesIn('INVITE', 4)
    carol.phone.answer(rings, { status: 180, phrase: 'Ringing' }, 'early')
    const before = [ada, bob, carol].map(({ phone }) => invitesAt(phone).length)
    const refused = '481 Call Does Not Exist'
    const attempt = async (by: Made, replaces: string) => outcomeOf(await takeOver(by.phone, replaces))
    const whole = replacing(held, held.calledTag, held.callerTag)
    expect(await attempt(rival, whole)).toBe(refused)
    expect(await attempt(bob, replacing(foreign, foreign.calledTag, foreign.callerTag))).toBe(refused)
    expect(await attempt(bob, replacing(outside, outside.calledTag, outside.callerTag))).toBe(refused)
    expect(await attempt(bob, replacing(held, held.calledTag, 'guessed'))).toBe(refused)
    expect(await attempt(bob, replacing(held, 'guessed', held.callerTag))).toBe(refused)
    expect(await attempt(bob, `nowhere@phone;to-tag=a;from-tag=b`)).toBe(refused)
    expect(await attempt(bob, `${early.callId};to-tag=early;from-tag=${early.fromTag}`)).toBe(refused)
    expect(await attempt(bob, held.callId)).toBe(refused)
    expect(await attempt(bob, ';')).toBe(refused)
    expect([ada, bob, carol].map(({ phone }) => invitesAt(phone).length)).toEqual(before)
    const told = await eventually(
      () => town.server.taken('refusals').filter(({ reason }) => reason === 'no_such_call'),
      ({ length }) => length === 9,
    )
    expect(told[0]).toMatchObject({ method: 'INVITE', sip_code: 481, realm: rivalRealm })
    carol.phone.answer(rings, { status: 486, phrase: 'Busy Here' }, 'early')
    expect((await ringing).status).toBe(486)
    for (const { final } of [held, foreign, outside])
      expect((await ada.phone.within(final, 'BYE')).status).toBe(200)
  })

  it('is nothing that a carrier may ask for', async () => {
    const [ada, carol] = [await town.newPhone('ada'), await town.newPhone('carol')]
    const held = await call(ada, carol)
    const number = town.newNumber()
    town.server.rings(number, [carol.username], realm)
    town.server.carriers.set(number, { allowed: true, resource_id: 'f'.repeat(32), reason: 'carrier' })
    const carrier = await openPhone({
      edgePort: town.edge.port,
      realm: 'carrier.invalid',
      username: '+49301234',
    })
    town.keep(carrier)
    const replaces = replacing(held, held.calledTag, held.callerTag)
    const calling = carrier.call(number, { headers: [['Replaces', replaces]] })
    const invite = await carol.phone.comesIn('INVITE', 2)
    expect(headerOf(invite, 'replaces')).toBeUndefined()
    carol.phone.answer(invite, { status: 486, phrase: 'Busy Here' }, 'busy')
    expect((await calling).status).toBe(486)
    expect((await ada.phone.within(held.final, 'BYE')).status).toBe(200)
  })
})
