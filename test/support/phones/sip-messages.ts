// Messages of SIP as texts.
import { createHash, randomBytes } from 'node:crypto'
import type { RemoteInfo } from 'node:dgram'

export type Header = readonly [name: string, value: string]

export interface SipMessage {
  /** `` of a response. */
  method: string
  uri: string
  /** 0 of a request. */
  status: number
  reason: string
  headers: readonly Header[]
  body: string
  source: RemoteInfo | undefined
  /** The first header of a name. */
  value(name: string): string | undefined
  /** All headers of a name, also several in one line. */
  all(name: string): string[]
}

const shortNames: Readonly<Record<string, string>> = {
  i: 'call-id',
  m: 'contact',
  f: 'from',
  t: 'to',
  v: 'via',
  o: 'event',
  r: 'refer-to',
  c: 'content-type',
  l: 'content-length',
}

const fullName = (name: string) => shortNames[name.toLowerCase()] ?? name.toLowerCase()

/** Values of one line, where commas stand outside of `<>` and quotes. */
const valuesIn = (line: string) =>
  line.match(/(?:"[^"]*"|<[^>]*>|[^,])+/g)?.map((value) => value.trim()) ?? []

export const parseSip = (text: string, source?: RemoteInfo): SipMessage | undefined => {
  const [head = '', ...bodyParts] = text.split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const response = /^SIP\/2\.0 (\d{3}) ?(.*)$/.exec(first)
  const request = /^([A-Z]+) (\S+) SIP\/2\.0$/.exec(first)
  if (!response && !request) return undefined
  const headers = lines.map((line): Header => {
    const at = line.indexOf(':')
    return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
  })
  const named = (name: string) => headers.filter(([own]) => fullName(own) === name.toLowerCase())
  return {
    method: request?.[1] ?? '',
    uri: request?.[2] ?? '',
    status: Number(response?.[1] ?? 0),
    reason: response?.[2] ?? '',
    headers,
    body: bodyParts.join('\r\n\r\n'),
    source,
    value: (name) => named(name)[0]?.[1],
    all: (name) => named(name).flatMap(([, value]) => valuesIn(value)),
  }
}

export const token = () => randomBytes(8).toString('hex')

/** The first header of a name, of a message that must have it. */
export const firstOf = (message: SipMessage, name: string) => {
  const value = message.value(name)
  if (value === undefined) throw new Error(`there is no ${name}`)
  return value
}

/** The URI in a header like From. */
export const bare = (value: string) => /<([^>]+)>/.exec(value)?.[1] ?? value.split(';')[0] ?? value

/** The same without headers of the request that it asks for. */
export const addressIn = (value: string) => bare(value).split('?')[0] ?? ''

export const tagIn = (value: string) => /;tag=([^;]+)/.exec(value)?.[1]

const joined = (first: string, headers: readonly Header[], body = '') =>
  [
    first,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n')

interface Request {
  method: string
  uri: string
  headers: readonly Header[]
  body?: string
}

export const requestText = ({ method, uri, headers, body }: Request) =>
  joined(`${method} ${uri} SIP/2.0`, headers, body)

interface Response {
  status: number
  reason: string
  tag: string
  headers: readonly Header[]
  body?: string
}

export const responseText = (request: SipMessage, { status, reason, tag, headers, body }: Response) => {
  const to = firstOf(request, 'To')
  const copied = request.headers.filter(([name]) =>
    ['via', 'from', 'call-id', 'cseq', 'record-route'].includes(fullName(name)),
  )
  return joined(
    `SIP/2.0 ${status} ${reason}`,
    [...copied, ['To', tagIn(to) === undefined ? `${to};tag=${tag}` : to], ...headers],
    body,
  )
}

/** The ACK of a refusal of an INVITE, or its CANCEL: both take the same way as the INVITE. */
export const ackOf = (inviteText: string, response: SipMessage | undefined, method = 'ACK') => {
  const invite = parseSip(inviteText)
  if (!invite) throw new Error('this is no INVITE')
  const sequence = firstOf(invite, 'CSeq').split(' ')[0]
  const routes = invite.all('Route').map((route): Header => ['Route', route])
  return requestText({
    method,
    uri: invite.uri,
    headers: [
      ['Via', firstOf(invite, 'Via')],
      ['Max-Forwards', '70'],
      ...routes,
      ['From', firstOf(invite, 'From')],
      ['To', response ? firstOf(response, 'To') : firstOf(invite, 'To')],
      ['Call-ID', firstOf(invite, 'Call-ID')],
      ['CSeq', `${sequence} ${method}`],
    ],
  })
}

const md5 = (text: string) => createHash('md5').update(text).digest('hex')

interface Asked {
  method: string
  uri: string
  username: string
  password: string
}

/** The answer to a digest challenge. */
export const authorizationFor = (
  response: SipMessage,
  { method, uri, username, password }: Asked,
): Header => {
  const isProxy = response.status === 407
  const challenge = firstOf(response, isProxy ? 'Proxy-Authenticate' : 'WWW-Authenticate')
  const field = (name: string) => new RegExp(`\\b${name}="?([^",]+)"?`).exec(challenge)?.[1]
  const [realm, nonce, opaque] = [field('realm') ?? '', field('nonce') ?? '', field('opaque')]
  const [ha1, ha2] = [md5(`${username}:${realm}:${password}`), md5(`${method}:${uri}`)]
  const [count, cnonce] = ['00000001', token()]
  const hasQop = field('qop') !== undefined
  const digest = hasQop
    ? md5(`${ha1}:${nonce}:${count}:${cnonce}:auth:${ha2}`)
    : md5(`${ha1}:${nonce}:${ha2}`)
  const parts = [
    `username="${username}"`,
    `realm="${realm}"`,
    `nonce="${nonce}"`,
    `uri="${uri}"`,
    `response="${digest}"`,
    'algorithm=MD5',
    ...(hasQop ? ['qop=auth', `nc=${count}`, `cnonce="${cnonce}"`] : []),
    ...(opaque === undefined ? [] : [`opaque="${opaque}"`]),
  ]
  return [isProxy ? 'Proxy-Authorization' : 'Authorization', `Digest ${parts.join(', ')}`]
}

/** A telephone call without voice. */
export const sdp = (port: number) =>
  [
    'v=0',
    `o=- ${port} 1 IN IP4 127.0.0.1`,
    's=call',
    'c=IN IP4 127.0.0.1',
    't=0 0',
    `m=audio ${20_000 + (port % 20_000)} RTP/AVP 0 8`,
    'a=rtpmap:0 PCMU/8000',
    'a=rtpmap:8 PCMA/8000',
    'a=sendrecv',
    '',
  ].join('\r\n')
