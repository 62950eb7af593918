// Calls whose phones disappear, and session timers, at Debian's Kamailio with the configuration that is shipped.
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type Link, openTcpLink, openWebSocketLink } from '../support/phones/edge-link.ts'
import { headerOf, outcomeOf } from '../support/phones/edge-messages.ts'
import { realm, useSipTown } from '../support/phones/sip-town.ts'
import { eventually } from '../support/run/eventually.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { lacksKamailio } from '../support/servers/sip-edge.ts'

describe.skipIf(lacksKamailio)(`a phone in a call at an edge${lacksKamailio}`, () => {
  // The least that Kamailio takes.
  const town = useSipTown({ KEEPALIVE_S: 30 })

  /** Ada calls Bob, who answers. Both are connected in one way. */
  const answered = async (
    headers: readonly (readonly [string, string])[] = [],
    connect: () => Promise<Link | undefined> = async () => undefined,
  ) => {
    const [ada, bob] = [
      await town.newPhone('ada', realm, await connect()),
      await town.newPhone('bob', realm, await connect()),
    ]
    const number = town.newNumber()
    town.server.rings(number, [bob.username], realm, { limits: { calls: 100 } })
    const callId = `${randomUUID()}@phone`
    const calling = ada.phone.call(number, { callId, headers })
    const invite = await bob.phone.comesIn('INVITE')
    bob.phone.answer(invite, {}, 'bobs')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    await bob.phone.comesIn('ACK')
    return { ada: ada.phone, bob: bob.phone, callId, final }
  }

  // Kamailio sends keep-alives half a minute after the answer at the earliest.
  inFullRun(() => {
    const ways = {
      UDP: async () => undefined,
      TCP: () => openTcpLink(town.edge.port),
      WebSocket: () => openWebSocketLink(town.webPort),
    }

    it.each(Object.entries(ways))(
      'over %s that disappears ends the call for the other one, recorded with the time until it answered last',
      async (_, connect) => {
        const [callerLost, calleeLost, bothLost, kept] = await Promise.all([
          answered([], connect),
          answered([], connect),
          answered([], connect),
          answered([], connect),
        ])
        callerLost.ada.close()
        calleeLost.bob.close()
        bothLost.ada.close()
        bothLost.bob.close()
        await Promise.all([callerLost.bob.comesIn('BYE'), calleeLost.ada.comesIn('BYE')])
        for (const { callId } of [callerLost, calleeLost, bothLost]) {
          const records = await town.server.records(callId)
          expect(records).toHaveLength(2)
          for (const record of records) {
            expect(record).toMatchObject({
              disposition: 'send_bye',
              hangup_cause: 'RECOVERY_ON_TIMER_EXPIRE',
              hangup_code: 'sip:200',
            })
            // Found half a minute later at the earliest.
            expect(record.billing_seconds).toBeLessThan(30)
          }
        }
        await Promise.all([kept.ada.comesIn('OPTIONS'), kept.bob.comesIn('OPTIONS')])
        expect(kept.ada.received.concat(kept.bob.received).filter(({ method }) => method === 'BYE')).toEqual(
          [],
        )
        // The others are released.
        await eventually(
          async () => (await town.edge.rpc('dlg.list')).body.result as { 'call-id': string }[],
          (dialogs) => dialogs.length === 1 && dialogs[0]?.['call-id'] === kept.callId,
        )
        expect(outcomeOf(await kept.ada.within(kept.final, 'BYE'))).toBe('200 OK')
        const [record] = await town.server.records(kept.callId)
        expect(record).toMatchObject({ hangup_cause: 'NORMAL_CLEARING', disposition: 'recv_bye' })
      },
    )
  })

  inFullRun(() => {
    it('that disappears while the edge is restarted is recorded until it answered last', async () => {
      const { ada, bob, callId } = await answered()
      const variables = () =>
        town.edge.kept(
          `SELECT v.dialog_key, v.dialog_value FROM dialog_vars v JOIN dialog d USING (hash_entry, hash_id) WHERE d.callid = '${callId}'`,
        )
      const secondOf = (name: string) =>
        Number(variables().find(({ dialog_key }) => dialog_key === name)?.dialog_value)
      await eventually(() => secondOf('callee_alive'), Number.isFinite)
      await town.edge.stop('SIGKILL')
      const talked = secondOf('callee_alive') - secondOf('answered')
      bob.close()
      await town.edge.start()
      await ada.comesIn('BYE')
      const records = await town.server.records(callId)
      expect(records.map((record) => record.billing_seconds)).toEqual([talked, talked])
    })
  })

  it('that asks for too short a session is refused with the shortest interval', async () => {
    const { phone } = await town.newPhone('ada')
    const headers = [
      ['Supported', 'timer'],
      ['Session-Expires', '60'],
    ] as const
    const final = await phone.call(town.newNumber(), { headers })
    expect([outcomeOf(final), headerOf(final, 'min-se')]).toEqual(['422 Session Interval Too Small', '90'])
  })

  it('refreshes its session also with a phone that has no session timer', async () => {
    const { ada, final } = await answered([
      ['Supported', 'timer'],
      ['Session-Expires', '600'],
    ])
    expect([headerOf(final, 'session-expires'), headerOf(final, 'require')]).toEqual([
      '600;refresher=uac',
      'timer',
    ])
    const refreshed = await ada.within(final, 'UPDATE', [
      ['Supported', 'timer'],
      ['Session-Expires', '600'],
    ])
    expect([refreshed.status, headerOf(refreshed, 'session-expires')]).toEqual([200, '600;refresher=uac'])
    const brief = await ada.within(final, 'UPDATE', [
      ['Supported', 'timer'],
      ['Session-Expires', '60'],
    ])
    expect([outcomeOf(brief), headerOf(brief, 'min-se')]).toEqual(['422 Session Interval Too Small', '90'])
    expect(outcomeOf(await ada.within(final, 'BYE'))).toBe('200 OK')
  })
})
