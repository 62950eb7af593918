import type { DigestMethod } from '../../../auth/credentials.ts'
import type { UserDoc, UserRecord } from '../../../auth/identity.ts'
import { type Problems, valueShown } from '../../../lib/failure.ts'
import { digestMethods } from './schema.ts'

/** How long the link in a welcome email is valid. */
export const linkSeconds = 86_400

export const namedHost = (hosts: readonly string[]) => hosts.find((host) => host !== '*')

const userValues = ({ first_name, last_name, username = '' }: UserDoc) => ({
  'user.first_name': first_name,
  'user.last_name': last_name,
  'user.username': username,
})

export const instructions = {
  withLink: {
    en: 'Open this address within 24 hours to choose your password:',
    de: 'Öffnen Sie innerhalb von 24 Stunden diese Adresse und wählen Sie Ihr Passwort:',
  },
  withoutLink: {
    en: 'Your administrator will tell you how to sign in.',
    de: 'Ihr Administrator teilt Ihnen mit, wie Sie sich anmelden.',
  },
}

export const welcomeValues = (doc: UserDoc, address: string, link: string | undefined) => ({
  ...userValues(doc),
  'user.email': address,
  instructions: link === undefined ? instructions.withoutLink : instructions.withLink,
  link: link ?? '',
})

/** The response to all requests. */
export const sentence =
  'Request for password recovery handled: if the user exists and has an email address, an email will be sent'

/** Maximum number of valid reset IDs of a user. */
export const maxResets = 5

/** The link that the first start prints: it fits into a line of a terminal. */
export const firstLink = { lifetimeSeconds: 1800, size: 42 }

export const accountKeys = ['account_name', 'account_realm', 'realm', 'phone_number', 'account_id'] as const

const isWebAddress = (url: string) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)

export const linkHost = (url: unknown) =>
  typeof url === 'string' && isWebAddress(url) ? new URL(url).hostname : undefined

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** Hosts of the operator and loopback addresses may be linked in all emails. */
export const isLinkedTo = (host: string, hosts: readonly string[]) =>
  hosts.includes('*') || hosts.includes(host) || loopback.test(host)

const linkProblem = (url: string, isAllowed: boolean) => {
  if (linkHost(url) === undefined)
    return { wrong_format: { message: 'Must be a http or https address', value: url, format: 'uri' } }
  const message =
    'Recovery emails may not link to this host: add it to recovery_ui_hosts of the settings, or to a brand'
  return isAllowed ? undefined : { forbidden: { message, cause: url } }
}

export const recoveryProblems = (data: Record<string, unknown>, isAllowedHost: boolean): Problems => {
  const { ui_url: url } = data
  const problem = typeof url === 'string' ? linkProblem(url, isAllowedHost) : undefined
  return {
    ...(accountKeys.some((key) => data[key] !== undefined)
      ? {}
      : { account_name: { required: { message: 'Field is required but missing', value: 'account_name' } } }),
    ...(problem ? { ui_url: problem } : {}),
  }
}

/** Adds the reset ID to the query. */
export const recoveryLink = (uiUrl: string, resetId: string) => {
  const [address = '', ...fragment] = uiUrl.split('#')
  const mark = address.includes('?') ? '&' : '?'
  return [`${address}${mark}recovery=${resetId}`, ...fragment].join('#')
}

export const recoveryValues = ({ doc }: UserRecord, link: string, validSeconds: number) => ({
  ...userValues(doc),
  link,
  'link.minutes': String(Math.max(1, Math.round(validSeconds / 60))),
})

const known = (sent: unknown) => digestMethods.find((method) => method === sent)

export const methodMeant = (sent: unknown): DigestMethod => known(sent) ?? 'md5'

/** An unknown method is rejected: the digest was made by it. */
export const methodProblems = (sent: unknown): Problems => {
  if (sent === undefined || sent === null || known(sent)) return {}
  const message = 'Value not found in enumerated list of values'
  return { method: { enum: { message, target: digestMethods, ...valueShown(sent) } } }
}
