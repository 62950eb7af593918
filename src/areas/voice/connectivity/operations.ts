import type { AccountRecord } from '../../../auth/identity.ts'
import { normalizeNumber } from '../../../lib/e164.ts'
import { failure, forbidden, joinProblems, type Problems, taken } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { type ChangeSet, type Claim, conflict } from '../../../storage/change-set.ts'
import { createCollection, type StoredClaim } from '../../../storage/collection.ts'
import { type StoredRecord, sortKeyOf } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { claimantOf } from '../../accounts/accounts/host-names/rules.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { Numbers } from '../../numbers/phone-numbers/operations.ts'
import type { OwnNumber } from '../../numbers/phone-numbers/signals.ts'
import { records, type UniqueName, uniqueClaims, uniqueProblems } from '../../records.ts'
import type { SipClaims } from '../devices/operations.ts'
import type { Destinations } from '../resources/destinations.operations.ts'
import {
  addressOf,
  type ConnectivityDoc,
  connectivityProblems,
  destinationsOf,
  didsOf,
  isServerOn,
  serverName,
  storedHalf,
  type TrunkTarget,
  targetOf,
  userOf,
  withNumber,
} from './rules.ts'
import { Connectivity, connectivityShape } from './schema.ts'

type ConnectivityRecord = StoredRecord<ConnectivityDoc, object>

// Scoped to the account: a number that changes its account leaves the trunk.
const didClaim = (accountId: string, value: string): Claim => ({
  scope: accountId,
  name: 'trunk_number',
  value,
})

const createConnectivityStore = (store: Store, sip: SipClaims) => {
  /** Scoped to the account, not to its realm, so that servers are found after the realm changes. */
  const userClaim = (accountId: string, user: string, realm: string | undefined) =>
    realm === undefined ? sip.username(accountId, user) : sip.identity(user, realm)

  /** Names that must be unique among trunks and devices. */
  const uniqueNamesOf = (accountId: string, doc: ConnectivityDoc): UniqueName[] =>
    (doc.servers ?? []).flatMap((server, index) => {
      const path = `servers.${index}.auth`
      const user = userOf(server)
      const address = addressOf(server)
      const names: UniqueName[] = []
      if (user !== undefined)
        names.push({
          claim: userClaim(accountId, user, doc.account?.auth_realm),
          problems: taken(`${path}.auth_user`, 'SIP credentials already in use', user),
        })
      if (address !== undefined)
        names.push({
          claim: sip.address(address),
          problems: taken(`${path}.ip`, 'SIP IP already in use', address),
        })
      return names
    })

  const claims = ({ accountId, doc }: ConnectivityRecord): StoredClaim[] => [
    ...uniqueClaims(uniqueNamesOf(accountId, doc)),
    // A second request is checked again.
    ...didsOf(doc).map(({ number }) => ({ ...didClaim(accountId, number), orElse: conflict })),
  ]

  const collection = createCollection<ConnectivityDoc, object>(store, {
    kind: 'connectivity',
    secrets: () => Connectivity,
    sortKey: ({ name }, id) => sortKeyOf(name ?? id),
    row: ({ name }) => ({ name }),
    claims,
  })

  return {
    ...collection,
    uniqueNamesOf,

    byNumber: (accountId: string, number: string) => collection.holder(didClaim(accountId, number)),

    byUser: (accountId: string, user: string) => collection.holder(sip.username(accountId, user)),

    byIdentity: (user: string, realm: string) => collection.holder(sip.identity(user, realm)),

    byAddress: (address: string) => collection.holder(sip.address(address)),
  }
}

interface Deps {
  store: Store
  numbers: Numbers
  accounts: Pick<Accounts, 'find' | 'hostNames'>
  destinations: Pick<Destinations, 'problems'>
  sip: SipClaims
}

export type { ConnectivityRecord, TrunkTarget }

export interface TrunkServer {
  accountId: string
  trunkId: string
  /** Its name, or its position among the servers. */
  server: string
  name: string | undefined
  isEnabled: boolean
  method: 'password' | 'ip'
  /** Its SIP user name. */
  user: string | undefined
  realm: string | undefined
  password: string | undefined
  /** Formatted by `formatAddress`. */
  address: string | undefined
  /** Where it is or where its calls are sent, as the record names it. */
  hosts: readonly string[]
}

const use = 'trunkstore'

// One trunk may have thousands of numbers.
const trunksAtOnce = 100

const numbersIn = (doc: ConnectivityDoc) => didsOf(doc).map(({ number }) => number)
const numbersOf = (trunk: ConnectivityRecord | undefined) => (trunk ? numbersIn(trunk.doc) : [])

const serversIn = ({ accountId, id, doc }: ConnectivityRecord): TrunkServer[] =>
  (doc.servers ?? []).map((server, index) => ({
    accountId,
    trunkId: id,
    server: serverName(server, index),
    name: server.server_name || undefined,
    isEnabled: isServerOn(server),
    method: userOf(server) === undefined ? 'ip' : 'password',
    user: userOf(server),
    realm: doc.account?.auth_realm,
    password: server.auth.auth_password,
    address: addressOf(server),
    hosts: [addressOf(server) ?? [], server.options?.ip ?? []].flat(),
  }))

export type Trunks = ReturnType<typeof createTrunks>

/** Trunks: the PBX servers of accounts, and the numbers whose calls they take. */
export const createTrunks = (tools: Deps) => {
  const { store, numbers, accounts, destinations, sip } = tools
  const trunks = createConnectivityStore(store, sip)

  const docOf = async (account: AccountRecord, data: Json): Promise<ConnectivityDoc> => {
    const { normalize } = await numbers.planning.rules()
    return storedHalf(data, { realm: account.doc.realm, normalize })
  }

  const realmProblems = async (
    account: AccountRecord,
    { account: { auth_realm: realm } = {} }: ConnectivityDoc,
    own: ConnectivityRecord | undefined,
  ): Promise<Problems> => {
    if (realm === undefined || realm === own?.doc.account?.auth_realm) return {}
    return accounts.hostNames.realmProblems(claimantOf(account), 'account.auth_realm', realm)
  }

  /** Numbers that a callflow, a mobile device or another trunk of the account uses. */
  const numberProblems = async (
    account: AccountRecord,
    doc: ConnectivityDoc,
    own: ConnectivityRecord | undefined,
  ): Promise<Problems> => {
    const had = new Set(numbersOf(own))
    const wanted = didsOf(doc).filter(({ number }) => !had.has(number))
    const view = await numbers.preload(wanted.map(({ number }) => number))
    const found = wanted.map(async ({ number, index }) => {
      const path = `servers.${index}.DIDs.${number}`
      const usedBy = (await view.get(number))?.usedBy
      if (usedBy && usedBy !== use) return taken(path, `The phone number is used by ${usedBy}`, number)
      return (await trunks.byNumber(account.id, number))
        ? taken(path, 'The phone number leads to another trunk', number)
        : {}
    })
    return joinProblems(...(await Promise.all(found)))
  }

  /** Numbers of other accounts. The message does not tell whose they are. */
  const assertOwn = async (
    account: AccountRecord,
    doc: ConnectivityDoc,
    own: ConnectivityRecord | undefined,
  ) => {
    const had = new Set(numbersOf(own))
    const wanted = numbersIn(doc).filter((number) => !had.has(number))
    const view = await numbers.preload(wanted)
    for (const number of wanted) {
      if ((await view.get(number))?.accountId === account.id) continue
      throw failure(forbidden, { message: `unauthorized to use ${number}`, cause: number })
    }
  }

  /** Updates which numbers are used by trunks. A number that has left the account is skipped. */
  const moveUses = async (
    set: ChangeSet,
    accountId: string,
    before: ConnectivityRecord | undefined,
    after: ConnectivityRecord | undefined,
  ) => {
    const [had, has] = [numbersOf(before), new Set(numbersOf(after))]
    const view = await numbers.preload([...had, ...has])
    for (const number of had) {
      const stored = has.has(number) ? undefined : await view.get(number)
      if (stored?.accountId === accountId && stored.usedBy === use)
        await numbers.addUse(view, set, { accountId, number, usedBy: undefined })
    }
    for (const number of has) {
      const stored = await view.get(number)
      const isFree = stored?.accountId === accountId && (stored.usedBy === '' || stored.usedBy === use)
      if (isFree) await numbers.addUse(view, set, { accountId, number, usedBy: use })
      // Another request was faster: this one is checked again.
      else if (!had.includes(number)) throw conflict()
    }
  }

  /** Replaces a number whose calls a trunk takes, or removes it. */
  const replaceNumber = async (
    set: ChangeSet,
    { accountId, number, after }: OwnNumber & { after?: string },
    together: readonly ChangeSet[],
  ) => {
    const holder = await trunks.byNumber(accountId, number)
    const trunk = holder && trunks.leftBy(together, holder)
    if (!trunk || !numbersOf(trunk).includes(number)) return
    const isTaken = after !== undefined && (await trunks.byNumber(accountId, after)) !== undefined
    const doc = withNumber(trunk.doc, number, isTaken ? undefined : after)
    trunks.replace(set, trunk, trunks.revise(trunk, { doc }))
  }

  const kept = records(store, {
    collection: trunks,
    shape: connectivityShape,
    async problems({ account, data, before }) {
      const { normalize } = await numbers.planning.rules()
      const doc = await docOf(account, data)
      return joinProblems(
        connectivityProblems(data, normalize),
        await uniqueProblems(store, trunks.uniqueNamesOf(account.id, doc), before),
        await realmProblems(account, doc, before),
        await destinations.problems(account, destinationsOf(data), before ? destinationsOf(before.doc) : []),
        await numberProblems(account, doc, before),
      )
    },
    content: async ({ account, data }) => ({ doc: await docOf(account, data) }),
    async beforeWrite(set, { account, before, after }) {
      await assertOwn(account, after.doc, before)
      await moveUses(set, account.id, before, after)
    },
    beforeDelete: (set, trunk) => moveUses(set, trunk.accountId, trunk, undefined),
    adoption: {
      rules(doc) {
        // Stored trunks may have more numbers than a request may.
        const { servers: _, ...problems } = connectivityProblems(doc, normalizeNumber)
        return problems
      },
    },
  })

  return {
    ...kept,
    byNumber: trunks.byNumber,
    replaceNumber,

    /**
     * The server that takes the calls of a number. `disabled`: it is switched off. Undefined: the number
     * belongs to no trunk.
     */
    async trunkFor(text: string): Promise<TrunkTarget | 'disabled' | undefined> {
      const stored = await numbers.findAnywhere(await numbers.normalize(text))
      if (stored?.usedBy !== use) return undefined
      const { accountId, id: number } = stored
      const trunk = await trunks.byNumber(accountId, number)
      const listed = trunk && didsOf(trunk.doc).find((one) => one.number === number)
      const account = await accounts.find(accountId)
      if (!listed || !account) return undefined
      if (!isServerOn(listed.server)) return 'disabled'
      const realm = trunk.doc.account?.auth_realm ?? account.doc.realm
      return targetOf({ trunkId: trunk.id, accountId, realm }, listed)
    },

    /**
     * The server with this user name in a realm: of the owner of the realm, else of any account that names the
     * realm.
     */
    async byUser(
      user: string,
      realm: string,
      owner: AccountRecord | undefined,
    ): Promise<TrunkServer | undefined> {
      const trunk = owner ? await trunks.byUser(owner.id, user) : await trunks.byIdentity(user, realm)
      const wanted = user.toLowerCase()
      return trunk && serversIn(trunk).find((server) => server.user?.toLowerCase() === wanted)
    },

    async byAddress(address: string): Promise<TrunkServer | undefined> {
      const trunk = await trunks.byAddress(address)
      return trunk && serversIn(trunk).find((server) => server.address === address)
    },

    async *servers(accountId: string): AsyncGenerator<TrunkServer[]> {
      for await (const batch of trunks.batches({ accountId }, trunksAtOnce)) yield batch.flatMap(serversIn)
    },
  }
}
