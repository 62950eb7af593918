// A server, its SIP edge and phones: what a device, a user or an account has in use when it is disabled or removed.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { headerOf, outcomeOf, type SipMessage } from '../support/phones/edge-messages.ts'
import { openPhone, type Phone } from '../support/phones/edge-phone.ts'
import {
  closeSipPlace,
  makeAccount,
  makePhone,
  openPlaceWithEdge,
  type SipPlace,
} from '../support/phones/sip-place.ts'
import { eventually } from '../support/run/eventually.ts'
import { lacksKamailio, type SipEdge } from '../support/servers/sip-edge.ts'

describe.skipIf(lacksKamailio)(`at a server with an edge${lacksKamailio}`, () => {
  let place: SipPlace
  let edge: SipEdge
  const phones: Phone[] = []

  beforeAll(async () => {
    ;({ place, edge } = await openPlaceWithEdge())
    const grace = { default: { disabled_grace_s: 1 } }
    expect(await place.session.admin.patch('/v2/system_configs/switch', grace)).toSucceed()
  })

  afterAll(() => closeSipPlace({ place, edge, phones }))

  type Account = Awaited<ReturnType<typeof makeAccount>>

  const put = async (path: string, data: Json) => {
    const answer = await place.session.admin.put(path, data)
    expect(answer).toSucceed()
    return String(answer.data.id)
  }

  /** A registered phone, and the user who owns its device. */
  const person = async (account: Account, username: string) => {
    const userId = await put(`${account.path}/users`, { first_name: username, last_name: 'Lovelace' })
    const { device, phone } = await makePhone(place, edge, account, { username }, { owner_id: userId })
    phones.push(phone)
    expect(outcomeOf(await phone.register())).toBe('200 OK')
    return { device, phone, user: `${account.path}/users/${userId}` }
  }

  /** Ada calls Bob, who answers. */
  const office = async () => {
    const account = await makeAccount(place)
    const [ada, bob] = [await person(account, 'ada'), await person(account, 'bob')]
    const flow = { module: 'device', data: { id: bob.device.id }, children: {} }
    await put(`${account.path}/callflows`, { numbers: ['100'], flow })
    const calling = ada.phone.call('100')
    const invite = await bob.phone.comesIn('INVITE')
    bob.phone.answer(invite, {}, 'bobs')
    const final: SipMessage = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    await bob.phone.comesIn('ACK')
    return { account, ada, bob, final }
  }

  type Office = Awaited<ReturnType<typeof office>>

  const namesIn = async ({ account }: Office) => {
    const { data } = await place.session.admin.get(`${account.path}/registrations`)
    return (data as unknown as Json[]).map(({ username }) => username).toSorted()
  }

  const ways: Record<string, { end(made: Office): Promise<unknown>; left: string[] }> = {
    'the device that calls is disabled': {
      end: ({ ada }) => place.session.admin.patch(ada.device.path, { enabled: false }),
      left: ['bob'],
    },
    'the device that is called is disabled': {
      end: ({ bob }) => place.session.admin.patch(bob.device.path, { enabled: false }),
      left: ['ada'],
    },
    'the device that calls is removed': {
      end: ({ ada }) => place.session.admin.delete(ada.device.path),
      left: ['bob'],
    },
    'the user who is called is disabled': {
      end: ({ bob }) => place.session.admin.patch(bob.user, { enabled: false }),
      left: ['ada'],
    },
    'the account is disabled': {
      end: ({ account }) => place.session.admin.patch(account.path, { enabled: false }),
      left: [],
    },
  }

  it.each(Object.entries(ways))('registrations and calls end when %s', async (_, { end, left }) => {
    const [made, other] = [await office(), await office()]
    expect(await namesIn(made)).toEqual(['ada', 'bob'])
    expect(await end(made)).toSucceed()
    await eventually(
      () => namesIn(made),
      (names) => names.join() === left.join(),
    )
    await Promise.all([made.ada.phone.comesIn('BYE'), made.bob.phone.comesIn('BYE')])
    expect(await namesIn(other)).toEqual(['ada', 'bob'])
    expect(outcomeOf(await other.ada.phone.within(other.final, 'BYE'))).toBe('200 OK')
    await other.bob.phone.comesIn('BYE')
  })

  it('calls of removed servers of a trunk end, and calls of the next server continue', async () => {
    const { account, ada } = await office()
    const carl = await person(account, 'carl')
    const flow = { module: 'device', data: { id: carl.device.id }, children: {} }
    await put(`${account.path}/callflows`, { numbers: ['200'], flow })
    const allowed = { default: { allowed_private_hosts: ['127.0.0.0/8'] } }
    expect(await place.session.admin.patch('/v2/system_configs/crossbar', allowed)).toSucceed()
    const numbered = async (auth_user: string, number: string) => {
      await put(`${account.path}/phone_numbers/${encodeURIComponent(number)}`, {})
      return { auth: { auth_user, auth_password: 'trunk-secret' }, DIDs: { [number]: {} } }
    }
    const numbers = ['+14155550171', '+14155550172'] as const
    const [first, second] = [await numbered('first', numbers[0]), await numbered('second', numbers[1])]
    const address = '127.0.0.31'
    const servers = [first, second, { auth: { auth_method: 'IP', ip: address } }]
    const trunk = `${account.path}/connectivity/${await put(`${account.path}/connectivity`, { servers })}`
    const server = async (username: string, more: { address?: string }) => {
      const facts = { edgePort: edge.port, realm: account.realm, username, password: 'trunk-secret', ...more }
      const phone = await openPhone(facts)
      phones.push(phone)
      return phone
    }
    const reached = async (username: string, number: string) => {
      const phone = await server(username, {})
      expect(outcomeOf(await phone.register())).toBe('200 OK')
      const calling = ada.phone.call(number)
      phone.answer(await phone.comesIn('INVITE'), {}, `${username}s`)
      const final = await calling
      expect(outcomeOf(final)).toBe('200 OK')
      return { phone, final }
    }
    const gone = await reached('first', numbers[0])
    const left = await reached('second', numbers[1])
    const known = await server('known', { address })
    const calling = known.call('200')
    carl.phone.answer(await carl.phone.comesIn('INVITE'), {}, 'carls')
    expect(outcomeOf(await calling)).toBe('200 OK')
    expect(await place.session.admin.patch(trunk, { servers: [second] })).toSucceed()
    await Promise.all([gone.phone.comesIn('BYE'), known.comesIn('BYE'), carl.phone.comesIn('BYE')])
    expect(outcomeOf(await ada.phone.within(left.final, 'BYE'))).toBe('200 OK')
    await left.phone.comesIn('BYE')
  })

  it('a call to an emergency number continues', async () => {
    const { account, ada, bob } = await office()
    const facts = { edgePort: edge.port, realm: 'carrier.test', username: 'gate', address: '127.0.0.7' }
    const carrier = await openPhone(facts)
    phones.push(carrier)
    const gateways = [{ server: '127.0.0.7', port: carrier.port }]
    await put('/v2/resources', { name: 'Emergency', emergency: true, rules: ['^(911)$'], gateways })
    const calling = ada.phone.call('911')
    carrier.answer(await carrier.comesIn('INVITE'), {}, 'gates')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    expect(await place.session.admin.patch(account.path, { enabled: false })).toSucceed()
    await Promise.all([ada.phone.comesIn('BYE'), bob.phone.comesIn('BYE')])
    const calls = await eventually(
      async () => (await place.session.admin.get(`${account.path}/channels`)).data as unknown as Json[],
      ({ length }) => length === 1,
    )
    expect(calls).toMatchObject([{ uuid: headerOf(final, 'call-id'), answered: true, destination: '911' }])
    expect(outcomeOf(await ada.phone.within(final, 'BYE'))).toBe('200 OK')
    await carrier.comesIn('BYE')
  })
})
