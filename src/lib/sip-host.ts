import { formatAddress, parseAddress } from './cidr.ts'

const label = '[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?'
const name = new RegExp(`^${label}(?:\\.${label})*\\.?$`)
// Some resolvers read names that end in a number as addresses.
const endsInNumber = /(?:^|\.)(?:\d+|0[xX][0-9A-Fa-f]*)\.?$/

/** Host name or address. */
export const isSipHost = (text: string) =>
  parseAddress(text) !== undefined || (text.length <= 253 && name.test(text) && !endsInNumber.test(text))

/** IPv6 in brackets. */
export const bracketed = (host: string) => {
  const address = parseAddress(host)
  if (!address) return host
  const text = formatAddress(address)
  return address.family === 6 ? `[${text}]` : text
}

export interface SipPlace {
  host: string
  port?: number | undefined
  transport?: 'udp' | 'tcp' | 'tls' | undefined
  user?: string | undefined
}

/** `sip:user@host:port;transport=tcp`. */
export const sipAddress = ({ host, port, transport, user }: SipPlace) =>
  [
    'sip:',
    user === undefined ? '' : `${user}@`,
    bracketed(host),
    port === undefined ? '' : `:${port}`,
    transport === undefined ? '' : `;transport=${transport}`,
  ].join('')

// No escaped characters. Parameters such as maddr may name another host: they are rejected.
const userCharacters = 'A-Za-z0-9+._~*#!&=$-'

const sipUser = new RegExp(`^[${userCharacters}]{1,64}$`)

/** Without characters that have a meaning in SIP. */
export const isSipUser = (text: string) => sipUser.test(text)

const written = new RegExp(
  `^(sips?):(?:([${userCharacters}]{1,64})@)?(\\[[0-9A-Fa-f:.]+\\]|[^:;?@\\s<>",[\\]]+)` +
    '(?::(\\d{1,5}))?((?:;(?:transport=(?:udp|tcp|tls)|user=phone|lr))*)$',
  'i',
)

const transports = ['udp', 'tcp', 'tls'] as const

/** Undefined: invalid, or parameters that may name another host. */
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
