import type { UserRecord } from '../../../../auth/identity.ts'
import type { Problems } from '../../../../lib/failure.ts'

/** The response to all requests. */
export const sentence =
  'Request for password recovery handled: if the user exists and has a mail address, a mail is on its way'

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

const linkProblems = (url: string, isAllowed: boolean): Problems => {
  if (linkHost(url) === undefined) {
    return {
      ui_url: { wrong_format: { message: 'Must be a http or https address', value: url, format: 'uri' } },
    }
  }
  if (isAllowed) return {}
  return {
    ui_url: {
      forbidden: {
        message:
          'Recovery mails may not link to this host: it has to stand in recovery_ui_hosts of the settings, or to belong to a brand',
        cause: url,
      },
    },
  }
}

export const recoveryProblems = (data: Record<string, unknown>, isAllowedHost: boolean): Problems => ({
  ...(accountKeys.some((key) => data[key] !== undefined)
    ? {}
    : { account_name: { required: { message: 'Field is required but missing', value: 'account_name' } } }),
  ...(typeof data.ui_url === 'string' ? linkProblems(data.ui_url, isAllowedHost) : {}),
})

/** Adds the reset ID to the query. */
export const recoveryLink = (uiUrl: string, resetId: string) => {
  const [address = '', ...fragment] = uiUrl.split('#')
  const mark = address.includes('?') ? '&' : '?'
  return [`${address}${mark}recovery=${resetId}`, ...fragment].join('#')
}

export const recoveryValues = ({ doc }: UserRecord, link: string, validSeconds: number) => ({
  'user.first_name': doc.first_name,
  'user.last_name': doc.last_name,
  'user.username': doc.username ?? '',
  link,
  'link.minutes': String(Math.max(1, Math.round(validSeconds / 60))),
})
