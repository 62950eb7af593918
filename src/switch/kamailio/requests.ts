import type { Notice } from '../media-switch.ts'
import type { Contact } from './registrations.ts'

// Texts of others as parts of SIP messages. The edge replaces two exclamation marks in headers with its address
// and drops the rest after a single one; line breaks begin a header.

export const headerText = (text: string) =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not pass
    .replace(/[\u0000-\u001f\u007f]+/g, ' ')
    .replaceAll('!', '')
    .trim()

export const quoted = (text: string) => `"${headerText(text).replace(/["\\]/g, '')}"`

const userPart = (text: string) =>
  encodeURIComponent(text)
    .replace(/%(?:2B|26|3D|24|2C|3B|3F|2F)/g, decodeURIComponent)
    .replaceAll('!', '%21')

export const hostPart = (realm: string) => realm.replace(/[^\w.:[\]-]/g, '')

export const addressOf = ({ username, realm }: { username: string; realm: string }) =>
  `sip:${userPart(username)}@${hostPart(realm)}`

export const headerLines = (headers: readonly (readonly [name: string, value: string])[]) =>
  headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')

export const headerIn = (message: string, name: string) =>
  new RegExp(`^${name}[ \\t]*:[ \\t]*(.*)$`, 'im').exec(message)?.[1]?.trim()

type Headers = readonly (readonly [name: string, value: string])[]

export interface SipRequest {
  method: string
  /** If it differs from the contact. */
  uri?: string
  headers: Headers
  body?: string
}

/** The edge replaces the marks with its own address. */
export const edgeContact = '<sip:edge@!!>'

export const identityOf = ({ phone: { username = '', realm } }: Contact) => addressOf({ username, realm })

export const firstIn = (path: string | undefined) => /<([^>]+)>/.exec(path ?? '')?.[1]

/**
 * Parameters of `tm.t_uac_start` and `tm.t_uac_wait`: method, URI, next hop, socket, headers and body. A phone
 * behind a NAT or on a WebSocket is reached where its registration came from.
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
