// A telephone that speaks SIP over UDP, real enough for registrars and proxies: it registers, calls, is called, is referred to
// others, and repeats what was lost. It has no voice.
import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import {
  ackOf,
  addressIn,
  authorizationFor,
  bare,
  firstOf,
  type Header,
  parseSip,
  requestText,
  responseText,
  type SipMessage,
  sdp,
  tagIn,
  token,
} from './sip-messages.ts'

export type { SipMessage }

export interface SipPhoneOptions {
  username: string
  realm: string
  /** Credentials for a challenge. */
  password?: string
  /** Address that gets all packets. */
  server: { host: string; port: number }
  userAgent?: string
}

/** The reaction to a call: the phone rings, and then does this. */
export type Taking = 'answer' | 'ring' | 'silence' | { status: number; reason: string }

/** A call that it takes part in. */
export interface SipCall {
  callId: string
  direction: 'in' | 'out'
  /** Status of the INVITE; 0: none yet. */
  status: number
  /** The INVITE of the caller. */
  request: SipMessage | undefined
  /** Final response to an outgoing INVITE. */
  response: SipMessage | undefined
  isAnswered: boolean
  isEnded: boolean
  /** Answers a call that rings. */
  answer(): void
  /** Ends a call that is answered; resolves with the status that its BYE got. */
  hangUp(): Promise<number>
  /** Gives a call up that it has begun. */
  cancel(): Promise<number>
}

interface Dialog {
  local: string
  remote: string
  target: string
  routes: readonly string[]
  sequence: number
}

interface Pending {
  onResponse(response: SipMessage): void
}

const firstRepeatMs = 500
const giveUpMs = 16_000

export type SipPhone = Awaited<ReturnType<typeof startSipPhone>>

export const startSipPhone = async (options: SipPhoneOptions) => {
  const { username, realm, password, server, userAgent = 'Crosspoint test phone' } = options
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  const contact = `sip:${username}@127.0.0.1:${port}`
  const identity = `sip:${username}@${realm}`

  const received: SipMessage[] = []
  const calls: SipCall[] = []
  const dialogs = new Map<string, Dialog>()
  const invites = new Map<string, { text: string; branch: string }>()
  const pending = new Map<string, Pending>()
  const answered = new Map<string, string>()
  const acks = new Map<string, string>()
  const registrationId = token()
  let registrations = 0
  let taking: Taking = 'answer'
  let isClosed = false

  const toServer = (text: string) => {
    if (!isClosed) socket.send(text, server.port, server.host)
  }

  const viaOf = (branch: string) => `SIP/2.0/UDP 127.0.0.1:${port};branch=${branch};rport`

  /** Sends until the other side answers; resolves with the final answer. */
  const transact = (method: string, branch: string, text: string, onProvisional?: () => void) =>
    new Promise<SipMessage>((resolve, reject) => {
      const key = `${branch} ${method}`
      let timer: NodeJS.Timeout | undefined
      const began = Date.now()
      const end = () => {
        clearTimeout(timer)
        pending.delete(key)
      }
      const repeat = (afterMs: number) => {
        timer = setTimeout(() => {
          if (Date.now() - began > giveUpMs) {
            end()
            return reject(new Error(`no answer to ${method}`))
          }
          toServer(text)
          repeat(method === 'INVITE' ? afterMs * 2 : Math.min(afterMs * 2, 4000))
        }, afterMs).unref()
      }
      pending.set(key, {
        onResponse(response) {
          if (response.status < 200) {
            if (method === 'INVITE') clearTimeout(timer)
            return onProvisional?.()
          }
          end()
          resolve(response)
        },
      })
      toServer(text)
      repeat(firstRepeatMs)
    })

  interface Outgoing {
    method: string
    uri: string
    headers: readonly Header[]
    body?: string
    onSent?: (sent: { text: string; branch: string }) => void
  }

  const sendOnce = ({ method, uri, headers, body, onSent }: Outgoing) => {
    const branch = `z9hG4bK${token()}`
    const text = requestText({
      method,
      uri,
      headers: [
        ['Via', viaOf(branch)],
        ['Max-Forwards', '70'],
        ...headers,
        ['Contact', `<${contact}>`],
        ['User-Agent', userAgent],
      ],
      ...(body === undefined ? {} : { body }),
    })
    onSent?.({ text, branch })
    return transact(method, branch, text).then((response) => {
      if (method === 'INVITE' && response.status >= 300) toServer(ackOf(text, response))
      return response
    })
  }

  /** Answers one challenge, if it knows the password. */
  const send = async (outgoing: Outgoing, sequence: number, callId: string) => {
    const withSequence = (number: number, more: readonly Header[] = []): Outgoing => ({
      ...outgoing,
      headers: [['Call-ID', callId], ['CSeq', `${number} ${outgoing.method}`], ...outgoing.headers, ...more],
    })
    const response = await sendOnce(withSequence(sequence))
    const challenged = response.status === 401 || response.status === 407
    if (!challenged || password === undefined) return { response, sequence }
    const credentials = authorizationFor(response, { ...outgoing, username, password })
    return {
      response: await sendOnce(withSequence(sequence + 1, [credentials])),
      sequence: sequence + 1,
    }
  }

  const inDialog = async (callId: string, method: string, headers: readonly Header[] = [], body?: string) => {
    const dialog = dialogs.get(callId)
    if (!dialog) throw new Error(`there is no call ${callId}`)
    const { response, sequence } = await send(
      {
        method,
        uri: dialog.target,
        headers: [
          ...dialog.routes.map((route): Header => ['Route', route]),
          ['From', dialog.local],
          ['To', dialog.remote],
          ...headers,
        ],
        ...(body === undefined ? {} : { body }),
      },
      ++dialog.sequence,
      callId,
    )
    dialog.sequence = sequence
    return response
  }

  const makeCall = (callId: string, direction: 'in' | 'out', request: SipMessage | undefined): SipCall => {
    const call: SipCall = {
      callId,
      direction,
      status: 0,
      request,
      response: undefined,
      isAnswered: false,
      isEnded: false,
      answer: () => {
        if (request) accept(call, request)
      },
      async hangUp() {
        const { status } = await inDialog(callId, 'BYE')
        call.isEnded = true
        return status
      },
      async cancel() {
        const invite = invites.get(callId)
        if (!invite) throw new Error(`there is no call ${callId}`)
        const text = ackOf(invite.text, undefined, 'CANCEL')
        return (await transact('CANCEL', invite.branch, text)).status
      },
    }
    calls.push(call)
    return call
  }

  /** Calls any address; resolves with the end of the attempt. */
  const begin = async (uri: string, more: readonly Header[] = []) => {
    const callId = `${token()}@127.0.0.1`
    const call = makeCall(callId, 'out', undefined)
    const local = `<${identity}>;tag=${token()}`
    const { response, sequence } = await send(
      {
        method: 'INVITE',
        uri,
        headers: [['From', local], ['To', `<${uri}>`], ['Content-Type', 'application/sdp'], ...more],
        body: sdp(port),
        onSent: (sent) => invites.set(callId, sent),
      },
      1,
      callId,
    )
    call.status = response.status
    call.response = response
    call.isEnded = response.status >= 300
    if (response.status >= 300) return call
    call.isAnswered = true
    const dialog: Dialog = {
      local,
      remote: firstOf(response, 'To'),
      target: bare(firstOf(response, 'Contact')),
      routes: response.all('Record-Route').reverse(),
      sequence,
    }
    dialogs.set(callId, dialog)
    const ack = requestText({
      method: 'ACK',
      uri: dialog.target,
      headers: [
        ['Via', viaOf(`z9hG4bK${token()}`)],
        ['Max-Forwards', '70'],
        ...dialog.routes.map((route): Header => ['Route', route]),
        ['From', local],
        ['To', dialog.remote],
        ['Call-ID', callId],
        ['CSeq', `${sequence} ACK`],
      ],
    })
    acks.set(`${callId} ${sequence}`, ack)
    toServer(ack)
    return call
  }

  const keyOf = (message: SipMessage, method = message.method) =>
    `${/branch=([^;,\s]+)/.exec(firstOf(message, 'Via'))?.[1]} ${method}`

  const localTag = token()

  const reply = (
    request: SipMessage,
    {
      status,
      reason,
      headers = [],
      body,
    }: { status: number; reason: string; headers?: readonly Header[]; body?: string },
  ) => {
    const text = responseText(request, {
      status,
      reason,
      tag: localTag,
      headers: [['Contact', `<${contact}>`], ['User-Agent', userAgent], ...headers],
      ...(body === undefined ? {} : { body }),
    })
    answered.set(keyOf(request), text)
    const { address, port: from } = request.source as RemoteInfo
    if (!isClosed) socket.send(text, from, address)
  }

  const accept = (call: SipCall, request: SipMessage) => {
    if (call.isAnswered || call.isEnded) return
    call.isAnswered = true
    call.status = 200
    dialogs.set(call.callId, {
      local: `${firstOf(request, 'To')};tag=${localTag}`,
      remote: firstOf(request, 'From'),
      target: bare(firstOf(request, 'Contact')),
      routes: request.all('Record-Route'),
      sequence: 0,
    })
    reply(request, {
      status: 200,
      reason: 'OK',
      headers: [['Content-Type', 'application/sdp']],
      body: sdp(port),
    })
  }

  const refuse = (call: SipCall, request: SipMessage, status: number, reason: string) => {
    call.status = status
    call.isEnded = true
    reply(request, { status, reason })
  }

  const callOf = (request: SipMessage) => calls.find(({ callId }) => callId === request.value('Call-ID'))

  const referred = async (request: SipMessage) => {
    const callId = firstOf(request, 'Call-ID')
    const made = begin(addressIn(firstOf(request, 'Refer-To')), [
      ['Referred-By', request.value('Referred-By') ?? `<${identity}>`],
    ])
    if (request.value('Refer-Sub') === 'false' || !dialogs.has(callId)) return made
    const { status, response } = await made
    const headers: Header[] = [
      ['Event', 'refer'],
      ['Subscription-State', 'terminated;reason=noresource'],
      ['Content-Type', 'message/sipfrag'],
    ]
    await inDialog(callId, 'NOTIFY', headers, `SIP/2.0 ${status} ${response?.reason ?? ''}`)
  }

  const ok = (request: SipMessage) => reply(request, { status: 200, reason: 'OK' })

  const takes: Readonly<Record<string, (request: SipMessage) => void>> = {
    ACK: () => undefined,
    OPTIONS: ok,
    NOTIFY: ok,
    INFO: ok,
    BYE(request) {
      const call = callOf(request)
      if (!call) return reply(request, { status: 481, reason: 'No such call' })
      call.isEnded = true
      ok(request)
    },
    CANCEL(request) {
      ok(request)
      const call = callOf(request)
      if (call?.request && !call.isAnswered && !call.isEnded)
        refuse(call, call.request, 487, 'Request Terminated')
    },
    INVITE(request) {
      const known = tagIn(firstOf(request, 'To')) !== undefined
      if (known) return ok(request)
      const call = makeCall(firstOf(request, 'Call-ID'), 'in', request)
      if (taking === 'silence') return
      if (typeof taking === 'object') return refuse(call, request, taking.status, taking.reason)
      reply(request, { status: 180, reason: 'Ringing' })
      if (taking === 'answer') accept(call, request)
    },
    REFER(request) {
      reply(request, { status: 202, reason: 'Accepted' })
      // A failed call appears in `calls`.
      referred(request).catch(() => undefined)
    },
  }

  socket.on('message', (bytes, source) => {
    const message = parseSip(bytes.toString('utf8'), source)
    if (!message) return
    if (message.status > 0) {
      const waiting = pending.get(keyOf(message, firstOf(message, 'CSeq').split(' ')[1] ?? ''))
      if (waiting) return waiting.onResponse(message)
      const ack = acks.get(`${message.value('Call-ID')} ${firstOf(message, 'CSeq').split(' ')[0]}`)
      if (ack) toServer(ack)
      return
    }
    const repeated = answered.get(keyOf(message))
    if (repeated !== undefined && message.method !== 'ACK')
      return void socket.send(repeated, source.port, source.address)
    received.push(message)
    const take = takes[message.method]
    if (take) take(message)
    else reply(message, { status: 405, reason: 'Method Not Allowed' })
  })

  return {
    contact,
    port,
    /** Requests from others, without repeats. */
    received,
    /** All calls, in the order in which they began. */
    calls,
    /** Requests of one method from others. */
    requests: (method: string) => received.filter((request) => request.method === method),

    /** Resolves with the final answer; 0 seconds: it leaves. */
    async register(expiresSeconds = 300) {
      const { response, sequence } = await send(
        {
          method: 'REGISTER',
          uri: `sip:${realm}`,
          headers: [
            ['From', `<${identity}>;tag=${token()}`],
            ['To', `<${identity}>`],
            ['Expires', String(expiresSeconds)],
          ],
        },
        ++registrations,
        registrationId,
      )
      registrations = sequence
      return response
    },

    /** Calls a number of its realm, or a SIP address; resolves with the end of the attempt. */
    call: (number: string, headers: readonly Header[] = []) =>
      begin(number.startsWith('sip:') ? number : `sip:${number}@${realm}`, headers),

    /** Any other request, outside of a call; resolves with the final answer. */
    async request(method: string, uri: string, headers: readonly Header[] = []) {
      const both: Header[] = [
        ['From', `<${identity}>;tag=${token()}`],
        ['To', `<${uri}>`],
      ]
      return (await send({ method, uri, headers: [...both, ...headers] }, 1, token())).response
    },

    /** What it does with calls from now on. */
    takes(how: Taking) {
      taking = how
    },

    close() {
      if (isClosed) return
      isClosed = true
      socket.close()
    },
  }
}
