import { hash } from 'node:crypto'
import type { AccountRecord } from '../../../auth/identity.ts'
import type { Conclusion, JobKind } from '../../../jobs/queue.ts'
import { isFailure, mediaSwitchUnreachable } from '../../../lib/failure.ts'
import type { ChangeSet } from '../../../storage/change-set.ts'
import type { Gate } from '../../../storage/store.ts'
import type { Identity } from '../../../switch/media-switch.ts'
import { switchSettings } from '../../../switch/settings.ts'
import { type EndedUse, endingsOf } from './ending.rules.ts'
import type { Edge, EdgeDeps } from './operations.ts'

interface CallsPayload extends Pick<EndedUse, 'kind'> {
  /** Hosts of the edges to ask again. Absent: all edges. */
  hosts?: Unreachable
}

interface Payload extends CallsPayload, Pick<EndedUse, 'id'> {
  identities: readonly Identity[]
}

type Unreachable = readonly string[]

const orUnreachable = (error: unknown): Unreachable => {
  if (isFailure(error, mediaSwitchUnreachable)) return error.details.edges.map(({ host }) => host)
  throw error
}

/** Only edges that did not respond are queried again: a phone may have registered again at the others. */
const conclude = <P extends CallsPayload>({ payload }: { payload: P }, hosts: Unreachable): Conclusion<P> =>
  hosts.length > 0
    ? { state: 'waiting', outcome: `no answer: ${hosts.join(', ')}`, payload: { ...payload, hosts } }
    : { state: 'forgotten' }

/**
 * When devices, users, accounts or trunks are disabled or deleted, this ends their registrations at once and
 * their calls after a grace period.
 */
export const createEnding = (deps: EdgeDeps, edge: Edge) => {
  const { store, settings, mediaSwitch, accounts, devices, trunks } = deps
  const { clock } = store

  /** The account, and the accounts below it if the account itself was changed. */
  async function* accountsOf(accountId: string, kind: EndedUse['kind']) {
    const account = await accounts.find(accountId)
    if (account) yield account
    if (account && kind === 'account') for await (const batch of accounts.descendants(account)) yield* batch
  }

  /** Everything that can register in an account, or only the devices of a user, in batches. */
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

  /**
   * The identities of the change. If a user or an account was changed, also all identities that are refused
   * now.
   */
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

  async function* idsFrom(accountId: string, kind: EndedUse['kind']) {
    // Also if the account is deleted.
    yield [accountId]
    for await (const { id } of accountsOf(accountId, kind)) if (id !== accountId) yield [id]
  }

  const calls: JobKind<CallsPayload, Unreachable> = {
    kind: 'ended_calls',
    everySeconds: 2,
    // One at a time, so that a call whose sides both end is ended once.
    maxConcurrent: 1,
    ask: ({ accountId, payload }) =>
      mediaSwitch
        .endCalls(idsFrom(accountId, payload.kind), edge.isRefused, payload.hosts)
        .catch(orUnreachable),
    conclude,
  }

  const addTo = async (set: ChangeSet, { accountId, kind, id, identities: named }: EndedUse) => {
    const account = await accounts.find(accountId)
    if (!account) return
    const { disabled_grace_s: graceSeconds } = await settings.of(switchSettings)
    const identities = named.map(({ username, realm = account.doc.realm }) => ({ username, realm }))
    set.job({
      kind: registrations.kind,
      // Repeating the same change is the same job.
      id: `${id}-${hash('sha256', JSON.stringify(identities), 'hex').slice(0, 16)}`,
      accountId,
      payload: { kind, id, identities },
    })
    const dueAt = clock.now() + graceSeconds * 1000
    set.job({
      kind: calls.kind,
      // One job for all changes of a second, because it lists all calls of the account.
      id: [accountId, kind === 'account' ? 'below' : 'own', Math.floor(dueAt / 1000)].join('-'),
      accountId,
      dueAt,
      payload: { kind },
    })
  }

  /** Rejects nothing: adds the jobs that follow from changes. */
  const gate: Gate = async (sets, write) => {
    for (const set of sets)
      for (const ending of endingsOf(set.changes))
        if ((await settings.of(switchSettings)).adapter !== 'none') await addTo(set, ending)
    return write(sets)
  }

  return { gate, jobs: [registrations, calls] as const }
}
