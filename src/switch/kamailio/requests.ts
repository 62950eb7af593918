import type { Notice } from '../media-switch.ts'
import type { Contact } from './registrations.ts'
import { addressOf, headerLines, headerText } from './sip-text.ts'

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
