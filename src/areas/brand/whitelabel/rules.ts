import { type AccountRecord, type Actor, speaksForAccount } from '../../../auth/identity.ts'
import { invalid, type Problems } from '../../../lib/failure.ts'
import { hostNameOf } from '../../../lib/host-name.ts'
import { memberOf } from '../../../lib/member.ts'
import type { WantedHostName } from '../../accounts/accounts/host-names/rules.ts'
import type { Whitelabel } from './schema.ts'

// Links are public: none may be a script, nor look like one.
const linkSchemes = /^(?:https?|mailto|tel):/i
const anyScheme = /^[a-z][a-z0-9+-]*:/i

/** A web address, or a host with a path. */
const isLink = (text: string) => !/[\s\p{C}]/u.test(text) && (linkSchemes.test(text) || !anyScheme.test(text))

const isHost = (text: string) => hostNameOf(text) !== undefined

const hostFields = ['domain', 'conference_public_domain'] as const
const linkPaths = [
  'fake_api_url',
  ...['help', 'learn_more'].map((key) => `nav.${key}`),
  ...['features', 'loa', 'resporg', 'terms'].map((key) => `port.${key}`),
  ...['deb', 'mac', 'rpm', 'windows'].map((key) => `commland.downloads.${key}`),
]

const textAt = (data: unknown, path: string): string | undefined => {
  const value = memberOf(data, ...path.split('.'))
  return typeof value === 'string' ? value : undefined
}

const problemsAt = (data: object, paths: readonly string[], isGood: (text: string) => boolean): Problems => {
  const problems: Problems = {}
  for (const path of paths) {
    const value = textAt(data, path)
    // Web forms send empty texts.
    if (!value || isGood(value)) continue
    const message = 'Must be a web address or a host name'
    problems[path] = { wrong_format: { message, format: 'uri', value: value.slice(0, 256) } }
  }
  return problems
}

/** What the schema cannot check. */
export const whitelabelProblems = (data: Partial<Whitelabel>): Problems => ({
  ...problemsAt(data, hostFields, isHost),
  ...problemsAt(data, linkPaths, isLink),
})

const spelled = (text: string | undefined) => (text ? (hostNameOf(text) ?? text) : '')

/** Fields whose host was changed or removed. */
const changedHosts = (data: Partial<Whitelabel>, before: Partial<Whitelabel> | undefined) =>
  hostFields.filter((field) => spelled(data[field]) !== spelled(before?.[field]))

/** Recovery mails may link to the hosts of a brand, so only admins change or remove them. */
export const domainPowerProblems = (
  actor: Pick<Actor, 'user'>,
  data: Partial<Whitelabel>,
  before: Partial<Whitelabel> | undefined,
): Problems =>
  speaksForAccount(actor)
    ? {}
    : Object.fromEntries(
        changedHosts(data, before).map((field) => [
          field,
          { forbidden: { message: 'Only an admin may change this', cause: field } },
        ]),
      )

/** The host names that the settings add. */
export const newHostNames = (
  data: Partial<Whitelabel>,
  before: Partial<Whitelabel> | undefined,
  confirmed: readonly string[],
): WantedHostName[] =>
  changedHosts(data, before).flatMap((path) => {
    const text = data[path]
    if (!text) return []
    const use = path === 'domain' ? 'domain' : 'conference'
    return [{ path, text, use, isConfirmed: confirmed.includes(spelled(text)) }]
  })

export const hostsOf = (data: Partial<Whitelabel>): string[] =>
  [domainOf(data), conferenceDomainOf(data)].filter((host) => host !== undefined)

export const domainOf = ({ domain }: Partial<Whitelabel>) => (domain ? hostNameOf(domain) : undefined)

export const conferenceDomainOf = ({ conference_public_domain: domain }: Partial<Whitelabel>) =>
  domain ? hostNameOf(domain) : undefined

/** Throws unless the request has exactly one file. */
export const assertOneFile = <Upload extends { files: number }>(upload: Upload | undefined): Upload => {
  if (!upload) throw invalid({ file: { required: { message: 'Please provide a file', value: 'file' } } })
  if (upload.files === 1) return upload
  const message = 'Please provide a single file'
  throw invalid({ file: { maxItems: { message, target: 1, value: upload.files } } })
}

/** Values of the account, else of its nearest parent. */
export const nearest = async <T>(
  { id, hidden }: Pick<AccountRecord, 'id' | 'hidden'>,
  find: (accountId: string) => Promise<T | undefined>,
) => {
  for (const accountId of [id, ...hidden.tree.toReversed()]) {
    const found = await find(accountId)
    if (found) return found
  }
  return undefined
}
