import { domainToASCII } from 'node:url'

const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?'
const form = new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*$`)

// An address that is a text of ASCII characters stays as it is: `12345678` is a name here, and no IPv4 address.
const inAscii = (host: string) => (/^[\x21-\x7e]*$/.test(host) ? host : domainToASCII(host))

/**
 * The one spelling of a host: lower-case, in ASCII, without the dot at the end. It may stand in a web address or have
 * a port behind it. Undefined when there is none.
 */
export const hostNameOf = (text: string): string | undefined => {
  const [, host = ''] = /^(?:https?:\/\/)?([^\s/?#@:]+)(?::\d{1,5})?(?:[/?#]\S*)?$/i.exec(text.trim()) ?? []
  const name = inAscii(host).toLowerCase().replace(/\.$/, '')
  return form.test(name) ? name : undefined
}
