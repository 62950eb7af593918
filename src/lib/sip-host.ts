import { formatAddress, parseAddress } from './cidr.ts'

const label = '[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?'
const name = new RegExp(`^${label}(?:\\.${label})*\\.?$`)
// Some resolvers read what ends in a number as an address, in forms that are none here.
const endsInNumber = /(?:^|\.)(?:\d+|0[xX][0-9A-Fa-f]*)\.?$/

/** Whether a text is a host name or an address: what may stand in a SIP address behind the @. */
export const isSipHost = (text: string) =>
  parseAddress(text) !== undefined || (text.length <= 253 && name.test(text) && !endsInNumber.test(text))

/** A host as SIP addresses and URLs write it: IPv6 in brackets. */
export const bracketed = (host: string) => {
  const address = parseAddress(host)
  if (!address) return host
  const text = formatAddress(address)
  return address.family === 6 ? `[${text}]` : text
}

interface Place {
  host: string
  port?: number | undefined
  transport?: 'udp' | 'tcp' | 'tls' | undefined
  /** Who is called there. */
  user?: string | undefined
}

/** `sip:user@host:port;transport=tcp`, as far as these are known. */
export const sipAddress = ({ host, port, transport, user }: Place) =>
  [
    'sip:',
    user === undefined ? '' : `${user}@`,
    bracketed(host),
    port === undefined ? '' : `:${port}`,
    transport === undefined ? '' : `;transport=${transport}`,
  ].join('')

const written =
  /^(sips?):(?:([^@\s<>",;?]+)@)?(\[[0-9A-Fa-f:.]+\]|[^:;?@\s<>",[\]]+)(?::(\d{1,5}))?(?:;([^\s<>",?]*))?$/i

const transports = ['udp', 'tcp', 'tls'] as const

/** What a SIP address says; undefined where it is none, or names no host. */
export const sipPlaceIn = (text: string): Place | undefined => {
  const [, scheme = '', user, bare = '', port, parameters = ''] = written.exec(text) ?? []
  const host = bare.replace(/^\[(.*)\]$/, '$1')
  if (host === '' || !isSipHost(host)) return undefined
  const said = /(?:^|;)transport=(\w+)/i.exec(parameters)?.[1]?.toLowerCase()
  const transport = scheme.toLowerCase() === 'sips' ? 'tls' : transports.find((one) => one === said)
  return { host, port: port === undefined ? undefined : Number(port), transport, user }
}
