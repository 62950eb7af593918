import { hash } from 'node:crypto'
import type { AccountRecord } from '../../../auth/identity.ts'
import type { Conclusion, JobKind } from '../../../jobs/queue.ts'
import { isFailure, mediaSwitchUnreachable } from '../../../lib/failure.ts'
import type { Settings } from '../../../settings/settings.ts'
import type { ChangeSet } from '../../../storage/change-set.ts'
import type { Gate, Store } from '../../../storage/store.ts'
import type { Identity, MediaSwitch } from '../../../switch/media-switch.ts'
import { switchSettings } from '../../../switch/settings.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { Trunks } from '../connectivity/operations.ts'
import type { Devices } from '../devices/operations.ts'
import { type Ending, endingsOf } from './ending.rules.ts'
import type { Edge } from './operations.ts'

interface Deps {
  store: Store
  settings: Settings
  mediaSwitch: MediaSwitch
  accounts: Accounts
  devices: Devices
  trunks: Pick<Trunks, 'servers'>
  edge: Pick<Edge, 'isRefused'>
}

interface CallsPayload extends Pick<Ending, 'kind'> {
  /** Hosts of the edges that have to be asked again. Absent: none was asked yet. */
  hosts?: Unreachable
}

interface Payload extends CallsPayload, Pick<Ending, 'id'> {
  /** Registrations of records that are gone, or have other names. */
  identities: readonly Identity[]
}

/** Hosts of edges that did not answer. */
type Unreachable = readonly string[]

const orUnreachable = (error: unknown): Unreachable => {
  if (isFailure(error, mediaSwitchUnreachable)) return error.details.edges.map(({ host }) => host)
  throw error
}

/** Edges that did not answer are asked again, and no others: a phone may have registered there again. */
const conclude = <P extends CallsPayload>({ payload }: { payload: P }, hosts: Unreachable): Conclusion<P> =>
  hosts.length > 0
    ? { state: 'waiting', outcome: `no answer: ${hosts.join(', ')}`, payload: { ...payload, hosts } }
    : { state: 'forgotten' }

/**
 * Ends what devices, users, accounts and trunks use when they are disabled or removed: registrations at once, calls after a grace
 * period.
 */
export const createEnding = (tools: Deps) => {
  const { store, settings, mediaSwitch, accounts, devices, trunks, edge } = tools
  const { clock } = store

  /** The account, and if the ending is about an account those below it. */
  async function* accountsOf(accountId: string, kind: Ending['kind']) {
    const account = await accounts.find(accountId)
    if (account) yield account
    if (account && kind === 'account') for await (const batch of accounts.descendants(account)) yield* batch
  }

  /** Everything that can register under an account, or as a device of one user, in batches. */
  async function* registrableOf(account: AccountRecord, ownerId?: string) {
    const { id: accountId } = account
    for await (const batch of devices.all(accountId, ownerId))
      yield batch.map((device) => {
        const { username, realm } = devices.phoneOf(account, device)
        return { party: { accountId, type: 'device', id: device.id }, identity: { username, realm } }
      })
    if (ownerId !== undefined) return
    for await (const servers of trunks.servers(accountId))
      yield servers.map(({ trunkId: id, user: username, realm = account.doc.realm }) => ({
        party: { accountId, type: 'trunk', id, server: { username } },
        identity: { username, realm },
      }))
  }

  /** What may no longer be registered after the change: of a user or an account, everything that is refused now. */
  async function* endedIdentities(accountId: string, { kind, id, identities }: Payload) {
    yield identities
    if (kind !== 'user' && kind !== 'account') return
    for await (const account of accountsOf(accountId, kind))
      for await (const batch of registrableOf(account, kind === 'user' ? id : undefined)) {
        const refused: Identity[] = []
        for (const { party, identity } of batch) if (await edge.isRefused(party)) refused.push(identity)
        yield refused
      }
  }

  const registrations: JobKind<Payload, Unreachable> = {
    kind: 'ended_registrations',
    ask: ({ accountId, payload }) =>
      mediaSwitch.endRegistrations(endedIdentities(accountId, payload), payload.hosts).catch(orUnreachable),
    conclude,
  }

  async function* idsFrom(accountId: string, kind: Ending['kind']) {
    // Also if the account is gone.
    yield [accountId]
    for await (const { id } of accountsOf(accountId, kind)) if (id !== accountId) yield [id]
  }

  const calls: JobKind<CallsPayload, Unreachable> = {
    kind: 'ended_calls',
    everySeconds: 2,
    // A call of which both sides are to end is ended once.
    atOnce: 1,
    ask: ({ accountId, payload }) =>
      mediaSwitch
        .endCalls(idsFrom(accountId, payload.kind), edge.isRefused, payload.hosts)
        .catch(orUnreachable),
    conclude,
  }

  const addTo = async (set: ChangeSet, { accountId, kind, id, identities: named }: Ending) => {
    const account = await accounts.find(accountId)
    if (!account) return
    const { disabled_grace_s: graceSeconds } = await settings.of(switchSettings)
    const identities = named.map(({ username, realm = account.doc.realm }) => ({ username, realm }))
    set.errand({
      kind: registrations.kind,
      // The same change made again is one piece of work.
      id: `${id}-${hash('sha256', JSON.stringify(identities), 'hex').slice(0, 16)}`,
      accountId,
      payload: { kind, id, identities },
    })
    const dueAt = clock.now() + graceSeconds * 1000
    set.errand({
      kind: calls.kind,
      // One for all changes of a second: each lists all calls of the account.
      id: [accountId, kind === 'account' ? 'below' : 'own', Math.floor(dueAt / 1000)].join('-'),
      accountId,
      dueAt,
      payload: { kind },
    })
  }

  /** Judges nothing: adds what follows from changes, whoever makes them. */
  const gate: Gate = async (sets, write) => {
    for (const set of sets)
      for (const ending of endingsOf(set.changes))
        if ((await settings.of(switchSettings)).adapter !== 'none') await addTo(set, ending)
    return write(sets)
  }

  return { gate, jobs: [registrations, calls] as const }
}
