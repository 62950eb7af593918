// SIP messages of a test phone, as text.
import { createHash, randomBytes } from 'node:crypto'

export interface SipMessage {
  /** Only in a request. */
  method: string
  /** Only in a request: its target. */
  uri: string
  /** Only in a response; 0 in a request. */
  status: number
  phrase: string
  headers: readonly (readonly [name: string, value: string])[]
  body: string
}

const short: Readonly<Record<string, string>> = { v: 'via', f: 'from', t: 'to', i: 'call-id', m: 'contact' }

const longName = (name: string) => short[name.toLowerCase()] ?? name.toLowerCase()

export const readMessage = (text: string): SipMessage => {
  const end = text.indexOf('\r\n\r\n')
  const [start = '', ...lines] = text.slice(0, end).split('\r\n')
  const headers = lines.map((line) => {
    const colon = line.indexOf(':')
    return [longName(line.slice(0, colon).trim()), line.slice(colon + 1).trim()] as const
  })
  const body = text.slice(end + 4)
  const response = /^SIP\/2\.0 (\d+) (.*)$/.exec(start)
  if (response)
    return {
      method: '',
      uri: '',
      status: Number(response[1]),
      phrase: response[2] ?? '',
      headers,
      body,
    }
  const [method = '', uri = ''] = start.split(' ')
  return { method, uri, status: 0, phrase: '', headers, body }
}

export const headersOf = ({ headers }: SipMessage, name: string) =>
  headers.filter(([found]) => found === name).map(([, value]) => value)

export const headerOf = (message: SipMessage, name: string) => headersOf(message, name)[0]

export const writeMessage = (
  start: string,
  headers: readonly (readonly [string, string])[],
  body = '',
): string =>
  [
    start,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n')

export const tagIn = (header = '') => /;tag=([^;>\s]+)/.exec(header)?.[1]

export const uriIn = (header = '') => /<([^>]+)>/.exec(header)?.[1] ?? header.split(';')[0] ?? ''

export const freshToken = () => randomBytes(6).toString('hex')

const md5 = (text: string) => createHash('md5').update(text).digest('hex')

const fieldIn = (challenge: string, name: string) =>
  new RegExp(`\\b${name}="?([^",]+)`, 'i').exec(challenge)?.[1] ?? ''

interface Credentials {
  username: string
  password: string
}

/** Credentials of a phone for a challenge. */
export const digestOf = (challenge: string, method: string, uri: string, who: Credentials): string => {
  const [realm, nonce] = [fieldIn(challenge, 'realm'), fieldIn(challenge, 'nonce')]
  const [cnonce, count] = [freshToken(), '00000001']
  const ha1 = md5(`${who.username}:${realm}:${who.password}`)
  const response = md5(`${ha1}:${nonce}:${count}:${cnonce}:auth:${md5(`${method}:${uri}`)}`)
  const fields = [
    `username="${who.username}"`,
    `realm="${realm}"`,
    `nonce="${nonce}"`,
    `uri="${uri}"`,
    `response="${response}"`,
    'algorithm=MD5',
    `cnonce="${cnonce}"`,
    'qop=auth',
    `nc=${count}`,
  ]
  return `Digest ${fields.join(', ')}`
}

/** How a request was answered, as tests compare it. */
export const outcomeOf = ({ status, phrase }: { status: number; phrase: string }) => `${status} ${phrase}`
