import type { Problems } from '../../../lib/failure.ts'

/** What everybody is answered, known or not. */
export const sentence =
  'Request for password recovery handled: if the user exists and has a mail address, a mail is on its way'

/** More mails than this are not sent to one user while earlier reset ids are good. */
export const mostResets = 5

const accountKeys = ['account_name', 'account_realm', 'realm', 'phone_number', 'account_id'] as const

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

export const recoveryLetter = (
  accountName: string,
  username: string,
  link: string,
  validSeconds: number,
) => ({
  subject: 'Password recovery',
  text: [
    `Somebody asked for a new password for the user ${username} of the account ${accountName}.`,
    '',
    `If it was you, open this address within ${Math.max(1, Math.round(validSeconds / 60))} minutes:`,
    '',
    link,
    '',
    'If it was not you, nothing has to be done: the password stays as it is.',
    '',
  ].join('\n'),
})
