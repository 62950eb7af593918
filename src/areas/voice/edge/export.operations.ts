import type { AccountRecord, Actor } from '../../../auth/identity.ts'
import { sequenceText } from '../../../events/events.ts'
import { parseAddress } from '../../../lib/cidr.ts'
import { present } from '../../../lib/json.ts'
import type { DeviceRecord } from '../devices/operations.ts'
import { sipAddressOf, sipIdentityOf } from '../devices/rules.ts'
import {
  assertMayHaveCredentials,
  type Edge,
  type EdgeDeps,
  mayAsk,
  ownRealm,
  type Sender,
} from './operations.ts'
import type { EdgeQuery } from './rules.ts'
import type { EdgeExportRow } from './schema.ts'

type RealmQuery = Pick<EdgeQuery, 'realm' | 'withCredentials'>

/** A sender, and the user name or address by which edges ask for it. */
interface KnownSender {
  sender: Sender
  username?: string | undefined
  address?: string | undefined
}

// Rows that are computed at the same time: a few milliseconds of work.
const maxConcurrentRows = 25

const questionOf = ({ realm, withCredentials }: RealmQuery, username?: string) => ({
  realm,
  username,
  address: undefined,
  userAgent: undefined,
  withCredentials,
})

const knownAs = (account: AccountRecord, device: DeviceRecord): KnownSender[] => {
  const identity = sipIdentityOf(device.doc)
  const address = sipAddressOf(device.doc)
  return [
    ...(identity && identity.realm === undefined
      ? [{ sender: { account, device }, username: identity.username }]
      : []),
    ...(address === undefined ? [] : [{ sender: { account, device, method: 'ip' as const }, address }]),
  ]
}

export type EdgeExport = ReturnType<typeof createEdgeExport>

/** The export of all answers about a realm. */
export const createEdgeExport = (deps: EdgeDeps, edge: Edge) => {
  const { store, feed, accounts, devices, trunks, resources } = deps

  /** The senders of the account that has the realm, in batches. */
  async function* ofOwner(account: AccountRecord): AsyncGenerator<KnownSender[]> {
    for await (const batch of devices.all(account.id))
      yield batch.flatMap((device) => knownAs(account, device))
    for await (const batch of trunks.servers(account.id))
      yield batch.flatMap((trunk): KnownSender[] => {
        const { user: username, realm, address } = trunk
        if (address !== undefined) return [{ sender: { account, trunk, method: 'ip' }, address }]
        return realm === undefined ? [{ sender: { account, trunk }, username }] : []
      })
  }

  /** Senders that name a realm which no account has, as far as the actor may see them. */
  async function* ofNobody(actor: Actor, realm: string): AsyncGenerator<KnownSender[]> {
    for await (const usernames of devices.usernamesUnder(realm)) {
      const batch: KnownSender[] = []
      for (const asked of usernames) {
        const sender = await edge.senderOf({ realm, username: asked, address: undefined })
        const username = sender?.device?.doc.sip?.username ?? sender?.trunk?.user
        if (sender && mayAsk(actor, sender.account)) batch.push({ sender, username })
      }
      yield batch
    }
  }

  /** Addresses of carriers are not senders. */
  const rowsOf = async ({ sender, username, address: text }: KnownSender, wanted: RealmQuery) => {
    const address = text === undefined ? undefined : parseAddress(text)
    if (address && (await resources.isCarriers(address))) return []
    const answer = await edge.answerOf(sender, questionOf(wanted, username))
    return [{ ...present({ username, address: text }), ...answer }]
  }

  async function* rows(head: EdgeExportRow, known: AsyncIterable<KnownSender[]>, wanted: RealmQuery) {
    yield [head]
    for await (const batch of known)
      for (let at = 0; at < batch.length; at += maxConcurrentRows) {
        const part = batch.slice(at, at + maxConcurrentRows)
        yield (await Promise.all(part.map((one) => rowsOf(one, wanted)))).flat()
      }
  }

  return {
    /**
     * Rows in batches: first the answer for unknown senders, then one row for each user name and each address.
     * A client that continues with the events after `sequence` misses nothing.
     */
    async of(actor: Actor, wanted: RealmQuery) {
      assertMayHaveCredentials(actor, wanted)
      const sequence = sequenceText(await feed.newest())
      // Reads after the fence include everything up to `sequence`.
      await store.fence()
      const account = await accounts.byRealm(wanted.realm)
      const query = questionOf(wanted)
      if (account && mayAsk(actor, account)) {
        const head = await edge.answerOf({ account }, query)
        const { realm } = account.doc
        return { sequence, rows: rows(head, ofOwner(account), { ...wanted, realm }) }
      }
      if (account?.id === actor.accountId) throw ownRealm()
      // The owner of a realm is not shown to an actor that may not see the account.
      const known = account ? (async function* () {})() : ofNobody(actor, wanted.realm)
      return { sequence, rows: rows(edge.stranger(query), known, wanted) }
    },
  }
}
