import { createRequire } from 'node:module'
import { isIP } from 'node:net'
import type { AccountRecord } from '../../../../auth/identity.ts'
import { hostNameOf } from '../../../../lib/host-name.ts'

// 240 KB of data: read with the first host name that is checked.
const load = createRequire(import.meta.url)
const suffixList = (): typeof import('tldts') => load('tldts')

/** Whether a host is on publicsuffix.org, such as `co.uk`: different owners have the names below it. */
export const isPublicSuffix = (host: string): boolean => {
  const { publicSuffix, isIcann, isPrivate } = suffixList().parse(host, {
    allowPrivateDomains: true,
    validateHostname: false,
  })
  return publicSuffix === host && (isIcann === true || isPrivate === true)
}

// Which account may have a host name. Names form a tree: the owner of a name owns all names below it.

const uses = ['realm', 'domain', 'conference'] as const

/** The purpose of an account's host name. */
type HostNameUse = (typeof uses)[number]

/** `derived`: a host that the DNS template derives from a domain, such as `portal.brand.test`. */
type StoredHostNameUse = HostNameUse | 'derived'

/** An account that has a name. */
export interface Holding {
  accountId: string
  use: StoredHostNameUse
}

/** A host name that an account is to have. */
export interface WantedHostName {
  /** The field that contains it. */
  path: string
  /** As it was sent. */
  text: string
  use: HostNameUse
  /** The operator writes the name, or has confirmed it: it may be below the operator's own names. */
  isConfirmed?: boolean
  /** The name may be above names of strangers: the operator has confirmed it, so their names are the conflict. */
  mayBeAbove?: boolean
}

/** The account that wants a name. A new account has no ID yet. */
export interface Claimant {
  id: string | undefined
  /** The accounts above it. */
  tree: readonly string[]
}

export const claimantOf = ({ id, hidden: { tree } }: AccountRecord): Claimant => ({ id, tree })

export const hostNameClaimName = 'host_name'
// A host may be several labels below a name that another account has.
const maxLabels = 20

const labelsOf = (host: string) => host.split('.')

/** `test.brand.portal` for `portal.brand.test`: names below one begin like it. */
const reversed = (host: string) => labelsOf(host).toReversed().join('.')

/** Several accounts and uses may share a name, so the value ends with both. */
export const hostNameClaim = (host: string, accountId: string, use: HostNameUse) => ({
  name: hostNameClaimName,
  value: `${reversed(host)}/${accountId}/${use}`,
})

/** The account and the use in the value of a claim. */
export const holdingIn = (value: string): Holding => {
  const [, accountId = '', text] = value.split('/')
  return { accountId, use: uses.find((use) => use === text) ?? 'realm' }
}

/** Prefixes of the claim values of a name and of its subdomains. */
export const hostNamePrefixes = (host: string) => ({
  itself: `${reversed(host)}/`,
  below: `${reversed(host)}.`,
})

/** The names above a host that an account may own, the nearest first. */
export const namesAbove = (host: string): string[] => {
  const labels = labelsOf(host).slice(-maxLabels)
  return labels
    .slice(1, -1)
    .map((_, index) => labels.slice(index + 1).join('.'))
    .filter((name) => !isPublicSuffix(name))
}

/** The use of a name by an account, and how that account is related to the one that wants a name. */
export interface Held {
  use: StoredHostNameUse
  isSelf: boolean
  /** The holder is above the account. */
  isAncestor: boolean
  /** The holder is below the account. */
  isDescendant: boolean
}

/** Whether two accounts may have one name. A sub-account may only share its conference host with a host above. */
const mayShare = (upper: StoredHostNameUse, lower: StoredHostNameUse) =>
  (upper === 'realm') !== (lower === 'realm') || (lower === 'conference' && upper !== 'derived')

/** Whether accounts with the same name keep an account from having it. */
export const isTakenBy = (wanted: StoredHostNameUse, holders: readonly Held[]) => {
  const isSharedAbove = holders.some(({ isAncestor, use }) => isAncestor && use !== 'realm')
  const mayHaveToo = ({ use, isSelf, isAncestor, isDescendant }: Held) => {
    if (isSelf) return true
    if (isAncestor) return mayShare(use, wanted)
    if (isDescendant) return mayShare(wanted, use)
    return isSharedAbove && (mayShare(use, wanted) || mayShare(wanted, use))
  }
  return !holders.every(mayHaveToo)
}

/** Why only the operator may have a name. */
type Reservation = 'address' | 'local' | 'suffix' | 'operator'

// If the last label is a number, resolvers read the whole name as an IP address, such as 127.1 and 2130706433.
const isReadAsAddress = (host: string) => {
  const last = labelsOf(host).at(-1) ?? ''
  if (!/^(?:0x[0-9a-f]*|\d+)$/.test(last)) return false
  return host.includes('.') || Number(last) <= 0xff_ff_ff_ff
}

interface OperatorHosts {
  /** The account may have none of these, nor a name above one. */
  own: readonly string[]
  /** The account may have no name below these. */
  parents: readonly string[]
}

const isBelow = (host: string, name: string) => host.endsWith(`.${name}`)

const areNamed = (texts: readonly string[], is: (name: string) => boolean) =>
  texts.some((text) => {
    const name = hostNameOf(text)
    return name !== undefined && is(name)
  })

/**
 * IP addresses in all forms, names of the machine, public suffixes, and names of the operator: with all above them and,
 * for brands, all below them.
 */
export const reservationOf = (
  host: string,
  use: HostNameUse,
  { own, parents }: OperatorHosts,
): Reservation | undefined => {
  if (isIP(host) !== 0 || (use !== 'realm' && isReadAsAddress(host))) return 'address'
  const isLocal = use === 'realm' ? host === 'localhost' : /(?:^|\.)localhost$/.test(host)
  if (isLocal) return 'local'
  if (isPublicSuffix(host)) return 'suffix'
  const isOwn = areNamed(own, (name) => name === host || isBelow(name, host))
  return isOwn || areNamed(parents, (name) => isBelow(host, name)) ? 'operator' : undefined
}

const reservations: Readonly<Record<Reservation, string>> = {
  address: 'Must be a host name, not an IP address',
  local: 'Must be a public host name, such as portal.example.com',
  suffix: 'Is a public suffix, such as co.uk: use a name below it',
  operator: 'The host name belongs to the operator of this server: use your own host name',
}

export const reservationProblem = (reservation: Reservation, cause: string) => ({
  forbidden: { message: reservations[reservation], cause },
})

export const takenProblem = (cause: string) => ({
  unique: { message: 'The host name, a parent domain or a subdomain belongs to another account', cause },
})

/** Whether a text is a host name in its normal spelling, ignoring upper case. */
export const isPlainHostName = (text: string) => hostNameOf(text) === text.toLowerCase()

export const realmFormProblem = (value: string) => ({
  wrong_format: {
    message: 'Must be a host name, such as sip.example.com, without a dot at its end',
    format: 'hostname',
    value,
  },
})
