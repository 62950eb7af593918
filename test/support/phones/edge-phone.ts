// A small SIP phone: registers, calls, answers, hangs up, and shows every packet.

import { eventually } from '../run/eventually.ts'
import { type Link, openUdpLink } from './edge-link.ts'
import {
  digestOf,
  freshToken,
  headerOf,
  headersOf,
  readMessage,
  type SipMessage,
  tagIn,
  uriIn,
  writeMessage,
} from './edge-messages.ts'

export interface PhoneFacts {
  edgePort: number
  realm: string
  username: string
  password?: string
  userAgent?: string
  /** The display name in From. */
  displayName?: string
  /** The address it sends from: loopback has many. */
  address?: string
  /** How it reaches the edge; UDP if absent. */
  link?: Link
}

type Headers = readonly (readonly [string, string])[]

interface Asked {
  method: string
  uri: string
  to: string
  callId?: string
  fromTag?: string
  headers?: Headers
  body?: string
  /** Replaces the contact of the phone. */
  contact?: string
  /** The user in From, instead of the user of the phone. */
  from?: string
}

const sdpOf = (address: string) =>
  [
    'v=0',
    `o=- 1 1 IN IP4 ${address}`,
    's=-',
    `c=IN IP4 ${address}`,
    't=0 0',
    'm=audio 40000 RTP/AVP 0',
    '',
  ].join('\r\n')

const agreedTo = ['OPTIONS', 'BYE', 'CANCEL', 'NOTIFY', 'UPDATE']

/** How a phone answers a call, and with what else. */
interface Answering {
  status?: number
  phrase?: string
  headers?: Headers
  contact?: string
}

export type Phone = Awaited<ReturnType<typeof openPhone>>

export const openPhone = async (facts: PhoneFacts) => {
  const { edgePort, realm, username, password = '', userAgent = 'Tester 1.0', address = '127.0.0.1' } = facts
  const display = facts.displayName === undefined ? '' : `"${facts.displayName}" `
  const { port, protocol, sentBy, parameters, send, onMessage, close } =
    facts.link ?? (await openUdpLink(edgePort, address))
  const received: SipMessage[] = []
  const sequences = new Map<string, number>()
  const contact = `<sip:${username}@${sentBy}${parameters}>`

  const answer = (
    request: SipMessage,
    { status = 200, phrase = 'OK', headers = [], contact: place = contact }: Answering,
    toTag?: string,
  ) => {
    const to = headerOf(request, 'to') ?? ''
    const body = request.method === 'INVITE' && status === 200 ? sdpOf(address) : ''
    const own: Headers = [
      ...headersOf(request, 'via').map((via) => ['Via', via] as const),
      ...headersOf(request, 'record-route').map((route) => ['Record-Route', route] as const),
      ['From', headerOf(request, 'from') ?? ''],
      ['To', tagIn(to) || !toTag ? to : `${to};tag=${toTag}`],
      ['Call-ID', headerOf(request, 'call-id') ?? ''],
      ['CSeq', headerOf(request, 'cseq') ?? ''],
      ['Contact', place],
      ...(body === '' ? [] : [['Content-Type', 'application/sdp'] as const]),
      ...headers,
    ]
    send(writeMessage(`SIP/2.0 ${status} ${phrase}`, own, body))
  }

  onMessage((packet) => {
    const message = readMessage(packet)
    received.push(message)
    // Pings, the end of a call, and its being taken back are agreed to; calls wait for the test.
    if (agreedTo.includes(message.method)) answer(message, {})
    if (message.method === 'INFO') answer(message, { status: 405, phrase: 'Method Not Allowed' })
  })

  const nextSequence = (callId: string) => {
    const next = (sequences.get(callId) ?? 0) + 1
    sequences.set(callId, next)
    return next
  }

  /** The last INVITE, as it was sent. */
  let calling = ''

  const sendRequest = (
    asked: Asked & { callId: string; fromTag: string },
    sequence: number,
    more: Headers,
  ) => {
    const { method, uri, to, callId, fromTag, headers = [], body = '', contact: place = contact } = asked
    const { from = username } = asked
    const branch = `z9hG4bK${freshToken()}`
    const own: Headers = [
      ['Via', `SIP/2.0/${protocol} ${sentBy};branch=${branch};rport`],
      ['Max-Forwards', '70'],
      ['From', `${display}<sip:${from}@${realm}>;tag=${fromTag}`],
      ['To', to],
      ['Call-ID', callId],
      ['CSeq', `${sequence} ${method}`],
      ['Contact', place],
      ['User-Agent', userAgent],
      ...(body === '' ? [] : [['Content-Type', 'application/sdp'] as const]),
      ...headers,
      ...more,
    ]
    const text = writeMessage(`${method} ${uri} SIP/2.0`, own, body)
    send(text)
    if (method === 'INVITE') calling = text
    return { branch, text }
  }

  const finalOf = (callId: string, cseq: string) =>
    eventually(
      () =>
        received.find(
          (one) => one.status >= 200 && headerOf(one, 'call-id') === callId && headerOf(one, 'cseq') === cseq,
        ),
      (found) => found !== undefined,
    ).then((found) => found as SipMessage)

  const acknowledge = (
    asked: Asked & { callId: string; fromTag: string },
    sequence: number,
    final: SipMessage,
  ) => {
    const isAnswered = final.status < 300
    const routes = headersOf(final, 'record-route').toReversed()
    const own: Headers = [
      [
        'Via',
        `SIP/2.0/${protocol} ${sentBy};branch=${isAnswered ? `z9hG4bK${freshToken()}` : /branch=([^;]+)/.exec(headerOf(final, 'via') ?? '')?.[1]};rport`,
      ],
      ['Max-Forwards', '70'],
      ...(isAnswered ? routes.map((route) => ['Route', route] as const) : []),
      ['From', `<sip:${asked.from ?? username}@${realm}>;tag=${asked.fromTag}`],
      ['To', headerOf(final, 'to') ?? ''],
      ['Call-ID', asked.callId],
      ['CSeq', `${sequence} ACK`],
    ]
    const uri = isAnswered ? uriIn(headerOf(final, 'contact')) : asked.uri
    send(writeMessage(`ACK ${uri} SIP/2.0`, own))
  }

  /** Sends a request like a phone, again with credentials after a challenge. Returns the last final response. */
  const request = async (asked: Asked): Promise<SipMessage> => {
    const whole = { callId: `${freshToken()}@${address}`, fromTag: freshToken(), ...asked }
    const { method, uri, callId } = whole
    const attempt = async (more: Headers) => {
      const sequence = nextSequence(callId)
      sendRequest(whole, sequence, more)
      const final = await finalOf(callId, `${sequence} ${method}`)
      if (method === 'INVITE') acknowledge(whole, sequence, final)
      return final
    }
    const first = await attempt([])
    if (password === '' || (first.status !== 401 && first.status !== 407)) return first
    const isProxy = first.status === 407
    const challenge = headerOf(first, isProxy ? 'proxy-authenticate' : 'www-authenticate') ?? ''
    const digest = digestOf(challenge, method, uri, { username, password })
    return attempt([[isProxy ? 'Proxy-Authorization' : 'Authorization', digest]])
  }

  const identity = `<sip:${username}@${realm}>`
  const registration = freshToken()

  const registerAs = (more: Partial<Asked>) =>
    request({ method: 'REGISTER', uri: `sip:${realm}`, to: identity, callId: registration, ...more })

  return {
    port,
    contact,
    received,
    request,
    answer,
    send,
    sendRequest,

    /** Registers for this number of seconds. */
    register: (expires = 300, headers: Headers = []) =>
      registerAs({ headers: [['Expires', String(expires)], ...headers] }),

    /** Registers with these headers alone. */
    registerAs,

    /** Calls a number; the last final answer, which is acknowledged. */
    call: (number: string, more: Partial<Asked> = {}) =>
      request({
        method: 'INVITE',
        uri: `sip:${number}@${realm}`,
        to: `<sip:${number}@${realm}>`,
        body: sdpOf(address),
        ...more,
      }),

    /** Takes the last call back. */
    cancel() {
      const invite = readMessage(calling)
      const own = ['via', 'from', 'to', 'call-id'].map(
        (name) => [name, headerOf(invite, name) ?? ''] as const,
      )
      const sequence = headerOf(invite, 'cseq')?.split(' ')[0]
      send(
        writeMessage(`CANCEL ${invite.uri} SIP/2.0`, [
          ...own,
          ['CSeq', `${sequence} CANCEL`],
          ['Max-Forwards', '70'],
        ]),
      )
    },

    /** A request within a call that this phone has begun. */
    within: async (final: SipMessage, method: string, headers: Headers = [], place = contact) => {
      const callId = headerOf(final, 'call-id') ?? ''
      return request({
        method,
        uri: uriIn(headerOf(final, 'contact')),
        to: headerOf(final, 'to') ?? '',
        callId,
        fromTag: tagIn(headerOf(final, 'from')) ?? '',
        contact: place,
        headers: [
          ...headersOf(final, 'record-route')
            .toReversed()
            .map((route) => ['Route', route] as const),
          ...headers,
        ],
      })
    },

    /** A request within a call that this phone has answered. */
    withinAnswered: async (invite: SipMessage, method: string, toTag: string, headers: Headers = []) => {
      const callId = headerOf(invite, 'call-id') ?? ''
      const [from = '', to = ''] = [headerOf(invite, 'from'), headerOf(invite, 'to')]
      const sequence = nextSequence(callId)
      const own: Headers = [
        ['Via', `SIP/2.0/${protocol} ${sentBy};branch=z9hG4bK${freshToken()};rport`],
        ['Max-Forwards', '70'],
        ...headersOf(invite, 'record-route').map((route) => ['Route', route] as const),
        ['From', `${to};tag=${toTag}`],
        ['To', from],
        ['Call-ID', callId],
        ['CSeq', `${sequence} ${method}`],
        ['Contact', contact],
        ...headers,
      ]
      send(writeMessage(`${method} ${uriIn(headerOf(invite, 'contact'))} SIP/2.0`, own))
      return finalOf(callId, `${sequence} ${method}`)
    },

    /** The received request of a method with this number. */
    comesIn: (method: string, count = 1): Promise<SipMessage> =>
      eventually(
        () => received.filter((one) => one.method === method),
        (found) => found.length >= count,
      ).then((found) => found[count - 1] as SipMessage),

    /** Closes it. Closing it twice has no effect. */
    close,
  }
}
