import type { UserDoc } from '../../../../auth/identity.ts'

/** How long the link in a welcome email is valid. */
export const linkSeconds = 86_400

export const namedHost = (hosts: readonly string[]) => hosts.find((host) => host !== '*')

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
