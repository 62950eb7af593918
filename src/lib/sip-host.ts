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

/** What a SIP URI says: nothing else of it counts. */
export interface SipPlace {
  host: string
  port?: number | undefined
  transport?: 'udp' | 'tcp' | 'tls' | undefined
  /** Who is called there. */
  user?: string | undefined
}

/** `sip:user@host:port;transport=tcp`, as far as these are known. */
export const sipAddress = ({ host, port, transport, user }: SipPlace) =>
  [
    'sip:',
    user === undefined ? '' : `${user}@`,
    bracketed(host),
    port === undefined ? '' : `:${port}`,
    transport === undefined ? '' : `;transport=${transport}`,
  ].join('')

// A user has no characters that SIP escapes. Parameters such as maddr and headers such as Route name further hosts: only
// those are accepted that name none.
const userCharacters = 'A-Za-z0-9+._~*#!&=$-'

const sipUser = new RegExp(`^[${userCharacters}]{1,64}$`)

/** Whether a text can be the user of a SIP URI as it is: it has no signs that mean something else there. */
export const isSipUser = (text: string) => sipUser.test(text)

const written = new RegExp(
  `^(sips?):(?:([${userCharacters}]{1,64})@)?(\\[[0-9A-Fa-f:.]+\\]|[^:;?@\\s<>",[\\]]+)` +
    '(?::(\\d{1,5}))?((?:;(?:transport=(?:udp|tcp|tls)|user=phone|lr))*)$',
  'i',
)

const transports = ['udp', 'tcp', 'tls'] as const

/** What a SIP URI says; undefined where it is none, or has parameters that may name another host. */
export const sipPlaceIn = (text: string): SipPlace | undefined => {
  const [, scheme = '', name, bare = '', digits, parameters = ''] = written.exec(text) ?? []
  const host = bare.replace(/^\[(.*)\]$/, '$1')
  const port = digits === undefined ? undefined : Number(digits)
  if (host === '' || !isSipHost(host) || port === 0 || (port ?? 0) > 65_535) return undefined
  const said = parameters.toLowerCase().split(';')
  const isSecure = scheme.toLowerCase() === 'sips'
  const transport = isSecure ? 'tls' : transports.find((one) => said.includes(`transport=${one}`))
  return {
    host,
    ...(port === undefined ? {} : { port }),
    ...(transport === undefined ? {} : { transport }),
    ...(name === undefined ? {} : { user: name }),
  }
}
