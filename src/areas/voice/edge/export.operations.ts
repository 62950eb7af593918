import type { AccountRecord, Actor } from '../../../auth/identity.ts'
import { sequenceText } from '../../../events/events.ts'
import type { Feed } from '../../../events/feed.ts'
import { parseAddress } from '../../../lib/cidr.ts'
import type { Store } from '../../../storage/store.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { Trunks } from '../connectivity/operations.ts'
import type { Devices } from '../devices/operations.ts'
import { sipAddressOf, sipIdentityOf } from '../devices/rules.ts'
import type { Resources } from '../resources/operations.ts'
import { assertMayHaveCredentials, type Edge, mayAsk, ownRealm, type Sender } from './operations.ts'
import type { EdgeExportRow } from './schema.ts'

interface Deps {
  store: Pick<Store, 'fence'>
  feed: Pick<Feed, 'newest'>
  edge: Edge
  accounts: Pick<Accounts, 'byRealm'>
  devices: Pick<Devices, 'all' | 'usernamesUnder'>
  trunks: Pick<Trunks, 'servers'>
  resources: Pick<Resources, 'isCarriers'>
}

interface Wanted {
  realm: string
  withCredentials: boolean
}

/** A sender, and the user name or address by which edges ask for it. */
interface Known {
  sender: Sender
  username?: string | undefined
  address?: string | undefined
}

// Rows that are computed at the same time: a few milliseconds of work.
const atOnce = 25

const questionOf = ({ realm, withCredentials }: Wanted, username: string | undefined) => ({
  realm,
  username,
  address: undefined,
  userAgent: undefined,
  withCredentials,
})

async function* nothing(): AsyncGenerator<EdgeExportRow[]> {}

export type EdgeExport = ReturnType<typeof createEdgeExport>

/** The export of all answers about a realm. */
export const createEdgeExport = ({ store, feed, edge, accounts, devices, trunks, resources }: Deps) => {
  const isCarriers = async (text: string) => {
    const address = parseAddress(text)
    return address !== undefined && (await resources.isCarriers(address))
  }

  /** The senders of the account that has the realm, in batches. */
  async function* ofOwner(account: AccountRecord): AsyncGenerator<Known[]> {
    for await (const batch of devices.all(account.id))
      yield batch.flatMap((device): Known[] => {
        const identity = sipIdentityOf(device.doc)
        const address = sipAddressOf(device.doc)
        return [
          ...(identity && identity.realm === undefined
            ? [{ sender: { account, device }, username: identity.username }]
            : []),
          ...(address === undefined
            ? []
            : [{ sender: { account, device, method: 'ip' } satisfies Sender, address }]),
        ]
      })
    for await (const batch of trunks.servers(account.id))
      yield batch.flatMap((trunk): Known[] => {
        const { user: username, realm, address } = trunk
        if (address !== undefined)
          return [{ sender: { account, device: undefined, trunk, method: 'ip' }, address }]
        return realm === undefined ? [{ sender: { account, device: undefined, trunk }, username }] : []
      })
  }

  /** Senders that name a realm which no account has, as far as the actor may see them. */
  async function* ofNobody(actor: Actor, realm: string): AsyncGenerator<Known[]> {
    for await (const usernames of devices.usernamesUnder(realm)) {
      const batch: Known[] = []
      for (const asked of usernames) {
        const sender = await edge.senderOf({ realm, username: asked, address: undefined })
        const username = sender?.device?.doc.sip?.username ?? sender?.trunk?.user
        if (sender && mayAsk(actor, sender.account)) batch.push({ sender, username })
      }
      yield batch
    }
  }

  const rowOf = async ({ sender, username, address }: Known, wanted: Wanted): Promise<EdgeExportRow> => ({
    ...(username === undefined ? {} : { username }),
    ...(address === undefined ? {} : { address }),
    ...(await edge.answerOf(sender, questionOf(wanted, username))),
  })

  /** Addresses of carriers are not senders. */
  const isKnown = async ({ address }: Known) => address === undefined || !(await isCarriers(address))

  async function* rowsOf(known: AsyncIterable<Known[]>, wanted: Wanted): AsyncGenerator<EdgeExportRow[]> {
    for await (const batch of known)
      for (let at = 0; at < batch.length; at += atOnce) {
        const rows = batch
          .slice(at, at + atOnce)
          .map(async (one) => ((await isKnown(one)) ? [await rowOf(one, wanted)] : []))
        yield (await Promise.all(rows)).flat()
      }
  }

  async function* withHead(head: EdgeExportRow, rest: AsyncIterable<EdgeExportRow[]>) {
    yield [head]
    yield* rest
  }

  return {
    /**
     * Rows in batches: first the answer for unknown senders, then one row for each user name and each address.
     * A client that continues with the events after `sequence` misses nothing.
     */
    async of(actor: Actor, wanted: Wanted) {
      assertMayHaveCredentials(actor, wanted)
      const sequence = sequenceText(await feed.newest())
      // Reads after the fence include everything up to `sequence`.
      await store.fence()
      const account = await accounts.byRealm(wanted.realm)
      const question = questionOf(wanted, undefined)
      if (!account)
        return {
          sequence,
          rows: withHead(edge.stranger(question), rowsOf(ofNobody(actor, wanted.realm), wanted)),
        }
      if (mayAsk(actor, account)) {
        const head = await edge.answerOf({ account, device: undefined }, question)
        const { realm } = account.doc
        return { sequence, rows: withHead(head, rowsOf(ofOwner(account), { ...wanted, realm })) }
      }
      if (account.id === actor.accountId) throw ownRealm()
      return { sequence, rows: withHead(edge.stranger(question), nothing()) }
    },
  }
}
