import type { SettingsOf } from '../../../../settings/keys.ts'
import type { passkeySettings } from '../settings.ts'

/** The relying party of WebAuthn. */
export interface RelyingParty {
  id: string
  name: string
  /** Allowed web origins of a response. */
  origins: string[]
}

type PartySettings = Pick<SettingsOf<typeof passkeySettings>, 'rp_id' | 'rp_name' | 'origins' | 'hosts'>

const hostForm = /^([a-z0-9_-]+(?:\.[a-z0-9_-]+)*)(:\d{1,5})?$/

// Without TLS, browsers allow passkeys only on the local machine.
const originsAt = (host: string, port: string) =>
  host === 'localhost' ? [`http://${host}${port}`, `https://${host}${port}`] : [`https://${host}${port}`]

/** The party of the settings, else the Host header if it is the operator's or this machine: clients choose it. */
export const partyAt = (host: string | undefined, settings: PartySettings): RelyingParty | undefined => {
  const { rp_id: id, rp_name: name, origins, hosts } = settings
  if (id !== undefined) return { id, name, origins: origins.length > 0 ? [...origins] : [`https://${id}`] }
  const [, domain, port = ''] = hostForm.exec(host?.toLowerCase() ?? '') ?? []
  if (domain === undefined || !(domain === 'localhost' || hosts.includes(domain))) return undefined
  return { id: domain, name, origins: originsAt(domain, port) }
}

/** The purpose of a challenge: responses for another purpose or user are refused. */
export type Purpose =
  | { kind: 'sign_in' }
  | { kind: 'registration' | 'second_factor'; accountId: string; userId: string }

export const challengeContext = (purpose: Purpose, { id }: RelyingParty) =>
  purpose.kind === 'sign_in'
    ? `passkey/sign_in/${id}`
    : `passkey/${purpose.kind}/${purpose.accountId}/${purpose.userId}/${id}`

/** The user handle: it contains no personal data. */
export const userHandleOf = (accountId: string, userId: string) => Buffer.from(`${accountId}${userId}`, 'hex')
