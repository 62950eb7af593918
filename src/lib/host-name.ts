import { domainToASCII } from 'node:url'

const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?'
const form = new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*$`)

// domainToASCII would read `12345678` as an IPv4 address.
const inAscii = (host: string) => (/^[\x21-\x7e]*$/.test(host) ? host : domainToASCII(host))

/** Normalized host: lower-case ASCII without the last dot. The text may be a web address or have a port. Undefined: no host. */
export const hostNameOf = (text: string): string | undefined => {
  const [, host = ''] = /^(?:https?:\/\/)?([^\s/?#@:]+)(?::\d{1,5})?(?:[/?#]\S*)?$/i.exec(text.trim()) ?? []
  const name = inAscii(host).toLowerCase().replace(/\.$/, '')
  return form.test(name) ? name : undefined
}
