import type { UserDoc } from '../../../../auth/identity.ts'

/** New users are not hurried as those are who asked for a link a moment ago. */
export const linkSeconds = 86_400

/** The first host that the operator names; `*` names none. */
export const namedHost = (hosts: readonly string[]) => hosts.find((host) => host !== '*')

/** What the mail says beside its text. */
export const welcomeValues = (doc: UserDoc, address: string, link: string | undefined) => ({
  'user.first_name': doc.first_name,
  'user.last_name': doc.last_name,
  'user.username': doc.username ?? '',
  'user.email': address,
  instructions:
    link === undefined
      ? 'Whoever made it tells you how to sign in.'
      : 'Open this address within 24 hours to choose your password:',
  link: link ?? '',
})
