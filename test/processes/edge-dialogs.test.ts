// Requests of the two parties of a call to each other, at Debian's Kamailio with the configuration that is
// shipped.
import { afterEach, describe, expect, it } from 'vitest'
import {
  headerOf,
  headersOf,
  outcomeOf,
  type SipMessage,
  tagIn,
  uriIn,
} from '../support/phones/edge-messages.ts'
import { openPhone, type Phone } from '../support/phones/edge-phone.ts'
import { realm, useSipTown } from '../support/phones/sip-town.ts'
import { eventually } from '../support/run/eventually.ts'
import { lacksKamailio } from '../support/servers/sip-edge.ts'

const methods = ['INVITE', 'MESSAGE', 'REGISTER', 'OPTIONS', 'UPDATE', 'INFO', 'SUBSCRIBE', 'PUBLISH', 'BYE']

describe.skipIf(lacksKamailio)(`a request within a call at an edge${lacksKamailio}`, () => {
  const town = useSipTown()

  afterEach(() => expect(town.edge.complaints()).toEqual([]))

  const phoneAt = async (address: string, username: string) => {
    const phone = await openPhone({ edgePort: town.edge.port, realm, username, address })
    return town.keep(phone)
  }

  interface Call {
    ada: Phone
    bob: Phone
    invite: SipMessage
    final: SipMessage
  }

  /** Ada calls Bob, who answers. A contact is what a phone gives as its own address. */
  const answered = async (contacts: { ada?: string; bob?: string } = {}): Promise<Call> => {
    const [ada, bob] = [await town.newPhone('ada'), await town.newPhone('bob')]
    const number = town.newNumber()
    town.server.rings(number, [bob.username], realm)
    const own = contacts.ada === undefined ? {} : { contact: contacts.ada }
    const calling = ada.phone.call(number, own)
    const invite = await bob.phone.comesIn('INVITE')
    bob.phone.answer(invite, contacts.bob === undefined ? {} : { contact: contacts.bob }, 'bobs')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    await bob.phone.comesIn('ACK')
    return { ada: ada.phone, bob: bob.phone, invite, final }
  }

  /** A request of the call, sent by a phone that is or is not one of its parties. */
  const within = ({ final }: Call, phone: Phone, method: string, uri: string) =>
    phone.request({
      method,
      uri,
      to: headerOf(final, 'to') ?? '',
      callId: headerOf(final, 'call-id') ?? '',
      fromTag: tagIn(headerOf(final, 'from')) ?? '',
      headers: headersOf(final, 'record-route')
        .toReversed()
        .map((route) => ['Route', route] as const),
    })

  const countAt = ({ received }: Phone) => received.filter(({ method }) => method !== '').length

  it('reaches no other place than the other party, whatever its method', async () => {
    const call = await answered()
    const carrier = await phoneAt('127.0.0.31', 'carrier')
    const toBob = uriIn(headerOf(call.final, 'contact'))
    const outcomes: string[] = []
    for (const method of methods) {
      const elsewhere = await within(call, call.ada, method, `sip:+19005550100@127.0.0.31:${carrier.port}`)
      outcomes.push(`${method} ${outcomeOf(elsewhere)}`)
    }
    expect(outcomes).toEqual(
      methods.map((method) =>
        ['REGISTER', 'PUBLISH'].includes(method)
          ? `${method} 405 Method Not Allowed`
          : `${method} 403 Forbidden`,
      ),
    )
    expect(carrier.received).toEqual([])
    expect(countAt(call.bob)).toBe(2)
    const told = await eventually(
      () => town.server.taken('refusals').find(({ number }) => number === '+19005550100'),
      (found) => found !== undefined,
    )
    expect(told).toMatchObject({ method: 'INVITE', reason: 'not_of_the_call', sip_code: 403, realm })
    expect(outcomeOf(await within(call, call.ada, 'BYE', toBob))).toBe('200 OK')
    await call.bob.comesIn('BYE')
    const ends = await town.server.records(headerOf(call.final, 'call-id') ?? '')
    expect(ends.map(({ disposition }) => disposition)).toEqual(['recv_bye', 'send_bye'])
  })

  it('of an address that has no part in the call changes nothing', async () => {
    const call = await answered()
    const stranger = await phoneAt('127.0.0.32', 'stranger')
    const toBob = uriIn(headerOf(call.final, 'contact'))
    const allowed = methods.filter((method) => !['REGISTER', 'PUBLISH'].includes(method))
    for (const method of allowed) {
      const outcome = outcomeOf(await within(call, stranger, method, toBob))
      expect([method, outcome]).toEqual([method, '481 Call Does Not Exist'])
    }
    expect(countAt(call.bob)).toBe(2)
    expect(outcomeOf(await call.ada.within(call.final, 'INFO'))).toBe('405 Method Not Allowed')
    expect(outcomeOf(await call.bob.withinAnswered(call.invite, 'BYE', 'bobs'))).toBe('200 OK')
    await call.ada.comesIn('BYE')
  })

  it('comes to a phone where it sends from, whatever address it gives itself', async () => {
    const carrier = await phoneAt('127.0.0.33', 'carrier')
    const place = `<sip:+19005550100@127.0.0.33:${carrier.port}>`
    const call = await answered({ ada: place, bob: place })
    const [info] = await Promise.all([
      call.bob.comesIn('INFO'),
      within(call, call.ada, 'INFO', uriIn(headerOf(call.final, 'contact'))),
    ])
    expect(info.uri).toBe(uriIn(place))
    expect(outcomeOf(await call.bob.withinAnswered(call.invite, 'BYE', 'bobs'))).toBe('200 OK')
    await call.ada.comesIn('BYE')
    expect(carrier.received).toEqual([])
  })

  it('takes no way over a server that the call does not use', async () => {
    const call = await answered()
    const carrier = await phoneAt('127.0.0.34', 'carrier')
    const routes = headersOf(call.final, 'record-route').toReversed()
    const outcome = await call.ada.request({
      method: 'INFO',
      uri: uriIn(headerOf(call.final, 'contact')),
      to: headerOf(call.final, 'to') ?? '',
      callId: headerOf(call.final, 'call-id') ?? '',
      fromTag: tagIn(headerOf(call.final, 'from')) ?? '',
      headers: [...routes, `<sip:127.0.0.34:${carrier.port};lr>`].map((route) => ['Route', route] as const),
    })
    expect(outcomeOf(outcome)).toBe('403 Forbidden')
    expect(carrier.received).toEqual([])
    expect(outcomeOf(await call.ada.within(call.final, 'BYE'))).toBe('200 OK')
  })

  it('comes from wherever the device of a party is registered', async () => {
    const call = await answered()
    const username = /sip:([^@]+)@/.exec(call.ada.contact)?.[1] ?? ''
    const elsewhere = await openPhone({
      edgePort: town.edge.port,
      realm,
      username,
      password: `word-of-${username}`,
      address: '127.0.0.35',
    })
    town.keep(elsewhere)
    const toBob = uriIn(headerOf(call.final, 'contact'))
    expect(outcomeOf(await within(call, elsewhere, 'INFO', toBob))).toBe('481 Call Does Not Exist')
    expect(outcomeOf(await elsewhere.register())).toBe('200 OK')
    expect(outcomeOf(await within(call, elsewhere, 'INFO', toBob))).toBe('405 Method Not Allowed')
    expect(outcomeOf(await within(call, elsewhere, 'BYE', toBob))).toBe('200 OK')
  })

  it('comes from any address of the carrier of a call, and from no other', async () => {
    const bob = await town.newPhone('bob')
    const number = town.newNumber()
    town.server.rings(number, [bob.username], realm)
    town.server.carriers.set(number, { allowed: true, resource_id: 'f'.repeat(32), reason: 'carrier' })
    const at = (address: string) =>
      openPhone({ edgePort: town.edge.port, realm: 'carrier.invalid', username: '+49301234', address })
    const [first, second] = [town.keep(await at('127.0.0.36')), town.keep(await at('127.0.0.37'))]
    const calling = first.call(number)
    bob.phone.answer(await bob.phone.comesIn('INVITE'), {}, 'bobs')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    const call = { ada: first, bob: bob.phone, invite: final, final }
    const toBob = uriIn(headerOf(final, 'contact'))
    town.server.carriers.delete(number)
    expect(outcomeOf(await within(call, second, 'INFO', toBob))).toBe('481 Call Does Not Exist')
    town.server.carriers.set(number, { allowed: true, resource_id: 'f'.repeat(32), reason: 'carrier' })
    await town.edge.outdate('*', 1)
    expect(outcomeOf(await within(call, second, 'BYE', toBob))).toBe('200 OK')
    await bob.phone.comesIn('BYE')
  })

  it('reaches the contact that a party has changed to', async () => {
    const call = await answered()
    const moved = `<sip:ada-moved@127.0.0.1:${call.ada.port}>`
    const updating = call.ada.within(call.final, 'UPDATE', [], moved)
    const update = await call.bob.comesIn('UPDATE')
    expect(outcomeOf(await updating)).toBe('200 OK')
    const bye = call.bob.withinAnswered(
      {
        ...call.invite,
        headers: [
          ...call.invite.headers.filter(([name]) => name !== 'contact'),
          ['contact', headerOf(update, 'contact') ?? ''],
        ],
      },
      'BYE',
      'bobs',
    )
    expect((await call.ada.comesIn('BYE')).uri).toBe(uriIn(moved))
    expect(outcomeOf(await bye)).toBe('200 OK')
  })

  it('changes the session and is confirmed, at the contact that each party has by then', async () => {
    const { ada, bob, final } = await answered()
    const moved = `<sip:bob-moved@127.0.0.1:${bob.port}>`
    const changing = ada.within(final, 'INVITE')
    const again = await bob.comesIn('INVITE', 2)
    bob.answer(again, { contact: moved }, 'bobs')
    const changed = await changing
    expect(outcomeOf(changed)).toBe('200 OK')
    expect((await bob.comesIn('ACK', 2)).uri).toBe(uriIn(moved))
    // The contact from before is still one of the call.
    expect(outcomeOf(await ada.within(final, 'INFO'))).toBe('405 Method Not Allowed')
    expect(outcomeOf(await ada.within({ ...final, headers: changed.headers }, 'BYE'))).toBe('200 OK')
  })

  it('reaches a phone before it answers, after a response that has to be confirmed', async () => {
    const [ada, bob] = [await town.newPhone('ada'), await town.newPhone('bob')]
    const number = town.newNumber()
    town.server.rings(number, [bob.username], realm)
    const [callId, fromTag] = ['early-call@phone', 'early-caller']
    const calling = ada.phone.call(number, { callId, fromTag })
    const invite = await bob.phone.comesIn('INVITE')
    const reliable = [
      ['Require', '100rel'],
      ['RSeq', '1'],
    ] as const
    bob.phone.answer(invite, { status: 183, phrase: 'Session Progress', headers: reliable }, 'bobs')
    const early = await eventually(
      () => ada.phone.received.find(({ status }) => status === 183),
      (found) => found !== undefined,
    )
    const confirming = ada.phone.within(early as SipMessage, 'PRACK')
    bob.phone.answer(await bob.phone.comesIn('PRACK'), {}, 'bobs')
    expect(outcomeOf(await confirming)).toBe('200 OK')
    bob.phone.answer(invite, {}, 'bobs')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    expect(outcomeOf(await ada.phone.within(final, 'BYE'))).toBe('200 OK')
  })
})
