// Hostile clients at a server with an edge: whatever they send changes no call, no balance and no registration.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { createChance, seed } from '../fuzz/chance.ts'
import { openTcpLink } from '../support/phones/edge-link.ts'
import {
  freshToken,
  headerOf,
  headersOf,
  outcomeOf,
  type SipMessage,
  tagIn,
  uriIn,
  writeMessage,
} from '../support/phones/edge-messages.ts'
import { openPhone, type Phone } from '../support/phones/edge-phone.ts'
import { createSipFuzzer } from '../support/phones/sip-fuzz.ts'
import {
  closeSipPlace,
  edgeOf,
  makeAccount,
  makePhone,
  openSipPlace,
  type SipPlace,
  tellEdge,
} from '../support/phones/sip-place.ts'
import { eventually } from '../support/run/eventually.ts'
import { countOf } from '../support/run/run-length.ts'
import { lacksKamailio, type SipEdge } from '../support/servers/sip-edge.ts'

const messages = countOf(1500, 100_000)
const atOnce = 20

const methods = [
  'INVITE',
  'MESSAGE',
  'REGISTER',
  'OPTIONS',
  'UPDATE',
  'INFO',
  'SUBSCRIBE',
  'NOTIFY',
  'REFER',
  'PUBLISH',
  'BYE',
]

describe.skipIf(lacksKamailio)(`hostile clients at a server with an edge${lacksKamailio}`, () => {
  let place: SipPlace
  let edge: SipEdge
  let elsewhere: Phone
  let carrier: Phone
  const phones: Phone[] = []

  beforeAll(async () => {
    place = await openSipPlace()
    // As it is shipped.
    edge = await edgeOf(place, { FLOOD_PACKETS: 400 })
    await tellEdge(place, edge)
    elsewhere = await phoneAt('127.0.0.9', 'elsewhere')
    carrier = await phoneAt('127.0.0.7', 'gate')
    const gateways = [{ server: '127.0.0.7', port: carrier.port }]
    await put('/v2/resources', { name: 'Ours', rules: ['^\\+1\\d{10}$'], gateways })
    await put('/v2/rates', { prefix: '1', rate_cost: 0.02, rate_minimum: 60, rate_name: 'all' })
  })

  beforeEach(async () => {
    stage = await prepared()
  })

  afterAll(() => closeSipPlace({ place, edge, phones }))

  const phoneAt = async (address: string, username: string, realm = 'stranger.test', password = '') => {
    const phone = await openPhone({ edgePort: edge.port, realm, username, password, address })
    phones.push(phone)
    return phone
  }

  const put = async (path: string, data: Json) => {
    const answer = await place.session.admin.put(path, data)
    expect(answer).toSucceed()
    return String(answer.data.id)
  }

  const countAt = (phone: Phone, method: string) =>
    phone.received.filter((one) => one.method === method).length

  const answeredBy = async (callee: Phone, call: () => Promise<SipMessage>) => {
    const [invites, acks] = [countAt(callee, 'INVITE'), countAt(callee, 'ACK')]
    const calling = call()
    callee.answer(await callee.comesIn('INVITE', invites + 1), {}, freshToken())
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    await callee.comesIn('ACK', acks + 1)
    return final
  }

  /** Ada talks with Bob, and Carol with a number behind a carrier, which costs money. */
  const prepared = async () => {
    const account = await makeAccount(place)
    const registered = async (username: string) => {
      const made = await makePhone(place, edge, account, { username })
      phones.push(made.phone)
      expect(outcomeOf(await made.phone.register())).toBe('200 OK')
      return made
    }
    const [ada, bob, carol] = [await registered('ada'), await registered('bob'), await registered('carol')]
    const paid = {
      source: { service: 'payments', id: 'cash' },
      usage: { type: 'credit', quantity: 1, unit: 'payment' },
      amount: 10,
    }
    await put(`${account.path}/ledgers/credit`, paid)
    const flow = { module: 'device', data: { id: bob.device.id }, children: {} }
    await put(`${account.path}/callflows`, { numbers: ['100'], flow })
    const out = { module: 'resources', data: {}, children: {} }
    await put(`${account.path}/callflows`, { numbers: ['no_match'], flow: out })
    const free = await answeredBy(bob.phone, () => ada.phone.call('100'))
    const costly = await answeredBy(carrier, () => carol.phone.call('+14155550177'))
    return { account, ada: ada.phone, bob: bob.phone, carol: carol.phone, free, costly }
  }

  let stage: Awaited<ReturnType<typeof prepared>>

  /** State that must not change, and packets that must not be sent. */
  const seen = async () => {
    const { account, ada, bob, carol } = stage
    const { admin } = place.session
    const [registrations, channels, total, cdrs] = await Promise.all(
      ['registrations', 'channels', 'ledgers/total', 'cdrs'].map((path) =>
        admin.get(`${account.path}/${path}`),
      ),
    )
    const rows = (answer: typeof registrations) => answer?.data as unknown as Json[]
    const requests = ({ received }: Phone) =>
      received.filter(({ method }) => method !== '' && method !== 'OPTIONS').map(({ method }) => method)
    return {
      registrations: rows(registrations)
        .map(({ username, contact, source_ip, source_port, call_id }) => [
          username,
          contact,
          source_ip,
          source_port,
          call_id,
        ])
        .toSorted(),
      calls: rows(channels)
        .map(({ uuid, answered, from, to }) => [uuid, answered, from, to])
        .toSorted(),
      balance: total?.data.amount,
      records: rows(cdrs),
      requests: [ada, bob, carol, carrier, elsewhere].map(requests),
    }
  }

  let pings = 0

  /**
   * Returns when the edge has read what was sent before. A flood keeps the address of its sender from being answered, and a packet may be
   * lost.
   */
  const settled = async () => {
    pings += 1
    const watcher = await phoneAt(`127.9.${pings >> 8}.${pings & 255 || 1}`, 'watcher')
    await eventually(
      () => {
        const asked = { method: 'OPTIONS', uri: 'sip:edge.test', to: '<sip:edge.test>', fromTag: 'ping' }
        watcher.sendRequest({ ...asked, callId: freshToken() }, 1, [])
        return watcher.received.map(outcomeOf)
      },
      (outcomes) => outcomes.includes('200 OK'),
    )
    watcher.close()
  }

  /** A participant ends the calls; each call leaves two records. */
  const ended = async () => {
    const { ada, bob, carol, free, costly, account } = stage
    const byes = countAt(carrier, 'BYE')
    expect(outcomeOf(await ada.within(free, 'BYE'))).toBe('200 OK')
    expect(outcomeOf(await carol.within(costly, 'BYE'))).toBe('200 OK')
    await Promise.all([bob.comesIn('BYE'), carrier.comesIn('BYE', byes + 1)])
    const rows = await eventually(
      async () => {
        const { data } = await place.session.admin.get(`${account.path}/cdrs?paginate=false`)
        return data as unknown as Json[]
      },
      ({ length }) => length >= 4,
    )
    const callIds = [free, costly].map((final) => headerOf(final, 'call-id'))
    expect(rows.map(({ call_id: id }) => id).toSorted()).toEqual(
      callIds.flatMap((id) => [id, `${id}.b`]).toSorted(),
    )
  }

  const unchanged = async (attack: () => Promise<unknown>) => {
    const before = await seen()
    expect(before).toMatchObject({ balance: 10, records: [] })
    expect([before.registrations.length, before.calls.length]).toEqual([3, 2])
    await attack()
    await settled()
    expect(await seen()).toEqual(before)
    await ended()
  }

  /** A request of a running call, with the tags or with others. */
  const within = (final: SipMessage, method: string, uri: string, fromTag: string, to: string) => ({
    method,
    uri,
    to,
    callId: headerOf(final, 'call-id') ?? '',
    fromTag,
    headers: headersOf(final, 'record-route')
      .toReversed()
      .map((route) => ['Route', route] as const),
  })

  it('reach no phone with foreign Request-URIs and routes', async () => {
    const stranger = await phoneAt('127.0.0.61', 'ada', stage.account.realm)
    const place = `127.0.0.9:${elsewhere.port}`
    await unchanged(async () => {
      for (const method of methods)
        for (const uri of [
          `sip:+19005550100@${place}`,
          `sip:elsewhere@${place};lr`,
          `sip:100@${stage.account.realm}`,
        ]) {
          const final = await stranger.request({
            method,
            uri,
            to: `<${uri}>`,
            headers: [['Route', `<sip:${place};lr>`]],
          })
          if (method !== 'OPTIONS')
            expect([method, final.status]).toEqual([method, expect.toSatisfy((status) => status >= 400)])
        }
    })
  })

  it('take no registration and no call in the name of another, whatever proof they repeat', async () => {
    const { realm } = stage.account
    const stranger = await phoneAt('127.0.0.62', 'bob', realm)
    const guesser = await phoneAt('127.0.0.63', 'bob', realm, 'wrong')
    await unchanged(async () => {
      for (const phone of [stranger, guesser]) {
        for (const [contact, expires] of [
          ['*', '0'],
          [stage.bob.contact, '0'],
          [phone.contact, '3600'],
        ] as const) {
          const final = await phone.registerAs({ contact, headers: [['Expires', expires]] })
          expect([401, 403]).toContain(final.status)
        }
        expect([403, 407]).toContain((await phone.call('+19005550100')).status)
      }
    })
  })

  it('neither end nor change calls with invented tags, nor with the right ones from elsewhere', async () => {
    const stranger = await phoneAt('127.0.0.64', 'ada', stage.account.realm)
    const neighbour = await phoneAt('127.0.0.1', 'ada', stage.account.realm)
    await unchanged(async () => {
      for (const final of [stage.free, stage.costly]) {
        const [own, to] = [tagIn(headerOf(final, 'from')) ?? '', headerOf(final, 'to') ?? '']
        const uri = uriIn(headerOf(final, 'contact'))
        const invented = to.replace(/;tag=.*$/, ';tag=invented')
        for (const method of methods.filter((one) => one !== 'REGISTER' && one !== 'PUBLISH')) {
          const asked = [
            stranger.request(within(final, method, uri, own, to)),
            stranger.request(within(final, method, uri, 'invented', invented)),
            neighbour.request(within(final, method, uri, 'invented', to)),
            neighbour.request(within(final, method, uri, own, invented)),
          ]
          for (const { status } of await Promise.all(asked)) expect([method, status]).toEqual([method, 481])
        }
      }
    })
  })

  it('end no call, and no process of the edge, with responses to no request', async () => {
    const stranger = await phoneAt('127.0.0.65', 'ada', stage.account.realm)
    const here = `SIP/2.0/UDP 127.0.0.1:${edge.port}`
    // Kamailio 5.6 crashes when the first Via is missing, or has a branch without a dot.
    const branches = ['', 'a', 'ab', '.cs', 'z9hG4bKa', `z9hG4bK${freshToken()}.0`]
    const firsts = [here, ...branches.map((branch) => `${here};branch=${branch}`)]
    await unchanged(async () => {
      for (const final of [stage.free, stage.costly])
        for (const method of ['INVITE', 'BYE', 'OPTIONS', 'CANCEL'])
          for (const status of ['200 OK', '408 Request Timeout', '481 Call Does Not Exist', '603 Decline'])
            for (const vias of [[], ...firsts.map((via) => [via, here])])
              stranger.send(
                writeMessage(`SIP/2.0 ${status}`, [
                  ...vias.map((via) => ['Via', via] as const),
                  ['From', headerOf(final, 'from') ?? ''],
                  ['To', headerOf(final, 'to') ?? ''],
                  ['Call-ID', headerOf(final, 'call-id') ?? ''],
                  ['CSeq', `2 ${method}`],
                  ['Contact', stranger.contact],
                ]),
              )
    })
  })

  it('flood the edge from the address of a carrier', async () => {
    const flood = await phoneAt('127.0.0.7', 'gate', stage.account.realm)
    await unchanged(async () => {
      for (let at = 0; at < 3000; at += 1) {
        const method = methods[at % methods.length] ?? ''
        flood.sendRequest(
          {
            method,
            uri: `sip:+1900555${at}@${stage.account.realm}`,
            to: `<sip:+1900555${at}@${stage.account.realm}>`,
            callId: freshToken(),
            fromTag: 'flood',
          },
          1,
          [],
        )
        if (at % atOnce === 0) await settled()
      }
    })
  })

  it(`send ${messages} messages of a fuzzer`, { timeout: 600_000 + messages * 10 }, async () => {
    const next = createSipFuzzer(createChance(seed), {
      realm: stage.account.realm,
      usernames: ['ada', 'bob', 'carol', 'nobody'],
      callIds: [stage.free, stage.costly].map((final) => headerOf(final, 'call-id') ?? ''),
      elsewhere: `127.0.0.9:${elsewhere.port}`,
    })
    await unchanged(async () => {
      for (let batch = 0; batch * atOnce < messages; batch += 1) {
        const texts = Array.from({ length: atOnce }, next)
        if (batch % 20 === 19) {
          const link = await openTcpLink(edge.port)
          for (const text of texts) link.send(text)
          await settled()
          link.close()
        } else {
          // Each from a new address: the limits of one are soon reached.
          const socket = createSocket('udp4')
          socket.bind(0, `127.8.${batch >> 8}.${batch & 255 || 1}`)
          await once(socket, 'listening')
          for (const text of texts) socket.send(text, edge.port, '127.0.0.1')
          await settled()
          socket.close()
        }
      }
    })
  })
})
