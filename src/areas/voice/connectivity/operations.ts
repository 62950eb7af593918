import type { AccountRecord } from '../../../auth/identity.ts'
import { normalizeNumber } from '../../../lib/e164.ts'
import { failure, forbidden, joinProblems, type Problems, taken } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { type ChangeSet, type Claim, conflict } from '../../../storage/change-set.ts'
import { createCollection } from '../../../storage/collection.ts'
import { type StoredRecord, sortKeyOf } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { claimantOf } from '../../accounts/accounts/host-names/rules.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { DepsOf } from '../../area.ts'
import type { Numbers } from '../../numbers/phone-numbers/operations.ts'
import type { OwnNumber } from '../../numbers/phone-numbers/signals.ts'
import { records, type UniqueName, uniqueClaims, uniqueProblems } from '../../records.ts'
import type { SipClaims } from '../devices/operations.ts'
import type { Destinations } from '../resources/destinations.operations.ts'
import {
  type ConnectivityDoc,
  connectivityProblems,
  destinationsOf,
  didsOf,
  isServerOn,
  serverAddress,
  serverName,
  storedTrunks,
  type TrunkTarget,
  trunkTargetOf,
  userOf,
  withNumber,
} from './rules.ts'
import { connectivityShape } from './schema.ts'

type ConnectivityRecord = StoredRecord<ConnectivityDoc, object>

// Scoped to the account: a number that changes its account leaves the trunk.
const didClaim = (accountId: string, value: string): Claim => ({
  scope: accountId,
  name: 'trunk_number',
  value,
})

const createConnectivityStore = (store: Store, sip: SipClaims) => {
  /** Names that must be unique among trunks and devices. */
  const uniqueNamesOf = (accountId: string, { account, servers = [] }: ConnectivityDoc): UniqueName[] =>
    servers.flatMap((server, index) => {
      const path = `servers.${index}.auth`
      const user = userOf(server)
      const realm = account?.auth_realm
      const address = serverAddress(server)
      const names: UniqueName[] = []
      if (user !== undefined)
        names.push({
          // Scoped to the account, not to its realm, so that servers are found after the realm changes.
          claim: realm === undefined ? sip.username(accountId, user) : sip.identity(user, realm),
          problems: taken(`${path}.auth_user`, 'SIP credentials already in use', user),
        })
      if (address !== undefined)
        names.push({
          claim: sip.address(address),
          problems: taken(`${path}.ip`, 'SIP IP already in use', address),
        })
      return names
    })

  const collection = createCollection<ConnectivityDoc, object>(store, {
    kind: 'connectivity',
    sortKey: ({ name }, id) => sortKeyOf(name ?? id),
    row: ({ name }) => ({ name }),
    claims: ({ accountId, doc }) => [
      ...uniqueClaims(uniqueNamesOf(accountId, doc)),
      // A second request is checked again.
      ...didsOf(doc).map(({ number }) => ({ ...didClaim(accountId, number), orElse: conflict })),
    ],
  })

  return {
    ...collection,
    uniqueNamesOf,
    byNumber: (accountId: string, number: string) => collection.holder(didClaim(accountId, number)),
  }
}

interface Deps extends DepsOf<'store'> {
  numbers: Numbers
  accounts: Pick<Accounts, 'find' | 'hostNames'>
  destinations: Pick<Destinations, 'problems'>
  sip: SipClaims
}

export type { ConnectivityRecord, TrunkTarget }

export type TrunkServer = ReturnType<typeof serversIn>[number]

const use = 'trunkstore'

// One trunk may have thousands of numbers.
const maxTrunksInBatch = 100

const numbersOf = (trunk: ConnectivityRecord | undefined) =>
  didsOf(trunk?.doc ?? {}).map(({ number }) => number)

const serversIn = ({ accountId, id, doc }: ConnectivityRecord) =>
  (doc.servers ?? []).map((server, index) => ({
    accountId,
    trunkId: id,
    /** Its name, or its position among the servers. */
    server: serverName(server, index),
    name: server.server_name || undefined,
    isEnabled: isServerOn(server),
    method: userOf(server) === undefined ? ('ip' as const) : ('password' as const),
    user: userOf(server),
    realm: doc.account?.auth_realm,
    password: server.auth.auth_password,
    address: serverAddress(server),
    /** The address of the server, or the destination of its calls, as in the record. */
    hosts: [serverAddress(server) ?? [], server.options?.ip ?? []].flat(),
  }))

/** The numbers whose calls trunks take. */
const trunkNumbers = (trunks: ReturnType<typeof createConnectivityStore>, numbers: Numbers) => {
  const newDids = (doc: ConnectivityDoc, own: ConnectivityRecord | undefined) => {
    const had = new Set(numbersOf(own))
    return didsOf(doc).filter(({ number }) => !had.has(number))
  }

  return {
    /** Numbers that a callflow, a mobile device or another trunk of the account uses. */
    async problems(
      account: AccountRecord,
      doc: ConnectivityDoc,
      own: ConnectivityRecord | undefined,
    ): Promise<Problems> {
      const wanted = newDids(doc, own)
      const view = await numbers.preload(wanted.map(({ number }) => number))
      const found = wanted.map(async ({ number, index }) => {
        const path = `servers.${index}.DIDs.${number}`
        const usedBy = (await view.get(number))?.usedBy
        if (usedBy && usedBy !== use) return taken(path, `The phone number is used by ${usedBy}`, number)
        return (await trunks.byNumber(account.id, number))
          ? taken(path, 'The phone number is assigned to another trunk. Remove it there first', number)
          : {}
      })
      return joinProblems(...(await Promise.all(found)))
    },

    /** Fails for numbers of other accounts. The message does not tell whose they are. */
    async assertOwn(account: AccountRecord, doc: ConnectivityDoc, own: ConnectivityRecord | undefined) {
      const wanted = newDids(doc, own).map(({ number }) => number)
      const view = await numbers.preload(wanted)
      for (const number of wanted)
        if ((await view.get(number))?.accountId !== account.id)
          throw failure(forbidden, { message: `unauthorized to use ${number}`, cause: number })
    },

    /** Updates which numbers are used by trunks. A number that has left the account is skipped. */
    async moveUses(
      set: ChangeSet,
      accountId: string,
      before: ConnectivityRecord | undefined,
      after: ConnectivityRecord | undefined,
    ) {
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
    },

    /** Replaces a number whose calls a trunk takes, or removes it. */
    async replaceNumber(
      set: ChangeSet,
      { accountId, number, after }: OwnNumber & { after?: string },
      together: readonly ChangeSet[],
    ) {
      const holder = await trunks.byNumber(accountId, number)
      const trunk = holder && trunks.leftBy(together, holder)
      if (!trunk || !numbersOf(trunk).includes(number)) return
      const isTaken = after !== undefined && (await trunks.byNumber(accountId, after)) !== undefined
      const doc = withNumber(trunk.doc, number, isTaken ? undefined : after)
      trunks.replace(set, trunk, trunks.revise(trunk, { doc }))
    },
  }
}

const trunkRecords = ({ store, numbers, accounts, destinations, sip }: Deps) => {
  const trunks = createConnectivityStore(store, sip)
  const dids = trunkNumbers(trunks, numbers)

  const docOf = async (account: AccountRecord, data: Json): Promise<ConnectivityDoc> => {
    const { normalize } = await numbers.planning.rules()
    return storedTrunks(data, { realm: account.doc.realm, normalize })
  }

  const realmProblems = async (
    account: AccountRecord,
    { account: { auth_realm: realm } = {} }: ConnectivityDoc,
    own: ConnectivityRecord | undefined,
  ): Promise<Problems> => {
    if (realm === undefined || realm === own?.doc.account?.auth_realm) return {}
    return accounts.hostNames.realmProblems(claimantOf(account), 'account.auth_realm', realm)
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
        await dids.problems(account, doc, before),
      )
    },
    content: async ({ account, data }) => ({ doc: await docOf(account, data) }),
    async beforeWrite(set, { account, before, after }) {
      await dids.assertOwn(account, after.doc, before)
      await dids.moveUses(set, account.id, before, after)
    },
    beforeDelete: (set, trunk) => dids.moveUses(set, trunk.accountId, trunk, undefined),
    adoption: {
      rules(doc) {
        // Stored trunks may have more numbers than a request may.
        const { servers: _, ...problems } = connectivityProblems(doc, normalizeNumber)
        return problems
      },
    },
  })
  return { trunks, kept: { ...kept, replaceNumber: dids.replaceNumber } }
}

export type Trunks = ReturnType<typeof createTrunks>

/** Trunks: PBX servers of accounts and their numbers. */
export const createTrunks = (deps: Deps) => {
  const { numbers, accounts, sip } = deps
  const { trunks, kept } = trunkRecords(deps)

  return {
    ...kept,
    byNumber: trunks.byNumber,

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
      return trunkTargetOf({ trunkId: trunk.id, accountId, realm }, listed)
    },

    /** The server with this user name in a realm: of the owner of the realm, else of any account that names the realm. */
    async byUser(user: string, realm: string, owner: AccountRecord | undefined) {
      const claim = owner ? sip.username(owner.id, user) : sip.identity(user, realm)
      const trunk = await trunks.holder(claim)
      const wanted = user.toLowerCase()
      return trunk && serversIn(trunk).find((server) => server.user?.toLowerCase() === wanted)
    },

    async byAddress(address: string) {
      const trunk = await trunks.holder(sip.address(address))
      return trunk && serversIn(trunk).find((server) => server.address === address)
    },

    /** All servers of an account, in batches. */
    async *servers(accountId: string): AsyncGenerator<TrunkServer[]> {
      for await (const batch of trunks.batches({ accountId }, maxTrunksInBatch))
        yield batch.flatMap(serversIn)
    },
  }
}
