import type { Notice } from '../media-switch.ts'
import type { Contact } from './registrations.ts'

// What others have chosen, as parts of SIP messages. Two exclamation marks stand for an address of the edge in headers that
// are handed to it, behind a single one it loses the rest, and line ends begin a header.

/** Text that stands in a header by itself. */
export const headerText = (text: string) =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not pass
    .replace(/[\u0000-\u001f\u007f]+/g, ' ')
    .replaceAll('!', '')
    .trim()

/** A display name, in quotes. */
export const quoted = (text: string) => `"${headerText(text).replace(/["\\]/g, '')}"`

/** The part of a SIP address that stands before its host. */
const userPart = (text: string) =>
  encodeURIComponent(text)
    .replace(/%(?:2B|26|3D|24|2C|3B|3F|2F)/g, decodeURIComponent)
    .replaceAll('!', '%21')

/** A realm as it stands in an address. */
export const hostPart = (realm: string) => realm.replace(/[^\w.:[\]-]/g, '')

export const addressOf = ({ username, realm }: { username: string; realm: string }) =>
  `sip:${userPart(username)}@${hostPart(realm)}`

/** Headers as an edge takes them: each on a line. */
export const headerLines = (headers: readonly (readonly [name: string, value: string])[]) =>
  headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')

/** The value of a header in the text of a message. */
export const headerIn = (message: string, name: string) =>
  new RegExp(`^${name}[ \\t]*:[ \\t]*(.*)$`, 'im').exec(message)?.[1]?.trim()

type Headers = readonly (readonly [name: string, value: string])[]

/** A request that an edge is to send to a contact. */
export interface SipRequest {
  method: string
  /** Whom it is for, where that is not the contact. */
  uri?: string
  headers: Headers
  body?: string
}

/** Where the edge is, as it tells phones: it puts its own address in the place of the marks. */
export const edgeContact = '<sip:edge@!!>'

export const identityOf = ({ phone: { username = '', realm } }: Contact) => addressOf({ username, realm })

/** The first proxy of a route. */
export const firstIn = (path: string | undefined) => /<([^>]+)>/.exec(path ?? '')?.[1]

/**
 * What `tm.t_uac_start` and `tm.t_uac_wait` take: method, whom it is for, the next hop, the socket that sends, headers
 * and body. A phone behind a NAT, or one that has come by WebSocket, is reached where its registration came from.
 */
export const paramsOf = (contact: Contact, { method, uri, headers, body = '' }: SipRequest) => {
  const route: Headers = contact.path === undefined ? [] : [['Route', contact.path]]
  const nextHop = firstIn(contact.path) ?? contact.received ?? '.'
  return [
    method,
    uri ?? contact.contact,
    nextHop,
    contact.socket ?? '.',
    headerLines([...route, ...headers]),
    body,
  ]
}

export const notifyRequest = (contact: Contact, { event, body }: Notice): SipRequest => {
  const identity = identityOf(contact)
  return {
    method: 'NOTIFY',
    headers: [
      ['From', `<${identity}>`],
      ['To', `<${identity}>`],
      ['Contact', edgeContact],
      ['Event', headerText(event)],
      ['Subscription-State', 'terminated;reason=noresource'],
      ...(body ? [['Content-Type', headerText(body.contentType)] as const] : []),
    ],
    ...(body ? { body: body.content } : {}),
  }
}
