import type { UserRecord } from '../../../auth/identity.ts'
import type { Problems } from '../../../lib/failure.ts'

/** What everybody is answered, known or not. */
export const sentence =
  'Request for password recovery handled: if the user exists and has a mail address, a mail is on its way'

/** More mails than this are not sent to one user while earlier reset ids are good. */
export const mostResets = 5

/** What names the account that somebody forgot the password of. */
export const accountKeys = ['account_name', 'account_realm', 'realm', 'phone_number', 'account_id'] as const

const isWebAddress = (url: string) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)

const linkProblems = (url: string, hosts: readonly string[]): Problems => {
  if (!isWebAddress(url)) {
    return {
      ui_url: { wrong_format: { message: 'Must be a http or https address', value: url, format: 'uri' } },
    }
  }
  if (hosts.length === 0 || hosts.includes(new URL(url).hostname)) return {}
  return { ui_url: { forbidden: { message: 'Recovery mails may not link to this host', cause: url } } }
}

/** What a schema cannot say; none of it depends on who exists. */
export const recoveryProblems = (data: Record<string, unknown>, hosts: readonly string[]): Problems => ({
  ...(accountKeys.some((key) => data[key] !== undefined)
    ? {}
    : { account_name: { required: { message: 'Field is required but missing', value: 'account_name' } } }),
  ...(typeof data.ui_url === 'string' ? linkProblems(data.ui_url, hosts) : {}),
})

/** The address with the reset id in its query, before its fragment. */
export const recoveryLink = (uiUrl: string, resetId: string) => {
  const [address = '', ...fragment] = uiUrl.split('#')
  const mark = address.includes('?') ? '&' : '?'
  return [`${address}${mark}recovery=${resetId}`, ...fragment].join('#')
}

/** What the mail says beside its text. */
export const recoveryValues = ({ doc }: UserRecord, link: string, validSeconds: number) => ({
  'user.first_name': doc.first_name,
  'user.last_name': doc.last_name,
  'user.username': doc.username ?? '',
  link,
  'link.minutes': String(Math.max(1, Math.round(validSeconds / 60))),
})
