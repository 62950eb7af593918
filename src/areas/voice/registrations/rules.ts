import type { AccountRecord } from '../../../auth/identity.ts'
import { gregorianOfUnix } from '../../../lib/gregorian.ts'
import type { Registration as Known } from '../../../switch/media-switch.ts'
import type { Registration } from './schema.ts'

interface Place {
  host: string
  port: number | undefined
}

const addressForm = /^(?:<?sips?:)?(?:[^@;?>]*@)?(\[[^\]]+\]|[^:;?>]+)(?::(\d{1,5}))?/i

/** Host and port of a SIP address. */
const placeIn = (address: string | undefined): Place | undefined => {
  const [, host, port] = addressForm.exec(address ?? '') ?? []
  return host === undefined ? undefined : { host, port: port === undefined ? undefined : Number(port) }
}

const socketForm = /^(\w+):(.+):(\d+)$/

const proxyOf = (socket: string | undefined) => {
  const [, protocol, host, port] = socketForm.exec(socket ?? '') ?? []
  return host === undefined
    ? {}
    : { proxy_ip: host, proxy_port: Number(port), proxy_protocol: protocol ?? '' }
}

const contactPlace = (place: Place | undefined) => ({
  ...(place && { contact_ip: place.host }),
  ...(place?.port !== undefined && { contact_port: place.port }),
})

const sourcePlace = (place: Place | undefined) => ({
  ...(place && { source_ip: place.host }),
  ...(place?.port !== undefined && { source_port: place.port }),
})

/** A registration as clients read it. */
export const rowOf = (account: AccountRecord, ownerId: string | undefined, known: Known): Registration => ({
  account_id: account.id,
  account_realm: account.doc.realm,
  authorizing_id: known.phone.deviceId,
  authorizing_type: 'device',
  ...(ownerId === undefined ? {} : { owner_id: ownerId }),
  username: known.phone.username ?? '',
  realm: known.phone.realm,
  contact: known.contact,
  ...contactPlace(placeIn(known.contact)),
  ...sourcePlace(placeIn(known.received ?? known.contact)),
  ...(known.userAgent === undefined ? {} : { user_agent: known.userAgent }),
  call_id: known.callId,
  expires: known.expiresSeconds,
  event_timestamp: gregorianOfUnix(known.registeredAt),
  registrar_hostname: known.edge,
  ...proxyOf(known.socket),
})
