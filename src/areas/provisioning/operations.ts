import type { Round } from '../../jobs/rounds.ts'
import { Failure } from '../../lib/failure.ts'
import type { Json } from '../../lib/json.ts'
import type { Outgoing } from '../../outgoing/client.ts'
import type { Settings } from '../../settings/settings.ts'
import { ChangeSet } from '../../storage/change-set.ts'
import type { Store } from '../../storage/store.ts'
import type { Accounts } from '../accounts/operations.ts'
import type { Alerts } from '../alerts/operations.ts'
import { alertOf, causeOf, pauseAfter, provisionedMac, replyOf, type Untaken } from './rules.ts'
import { createProvisioningStore, type Waiting } from './store.ts'

interface Tools {
  store: Store
  settings: Settings
  outgoing: Outgoing
  accounts: Pick<Accounts, 'find' | 'resellerOf'>
  alerts: Pick<Alerts, 'raise' | 'withdraw'>
}

/** A device as far as provisioning is concerned. */
interface Phone {
  accountId: string
  id: string
  doc: Json
}

const deviceKind = 'device'
const perLook = 50
const mostReplyBytes = 65_536

/** What the service said; no status: it did not answer. */
interface Reply {
  isTaken: boolean
  status?: number
  text: string
}

export type Provisioning = ReturnType<typeof createProvisioning>

/**
 * Tells the operator's provisioning service what phones have to be set to, until it has taken it. While it does not,
 * admins are alerted: once, and the alert goes when it does.
 */
export const createProvisioning = ({ store, settings, outgoing, accounts, alerts }: Tools) => {
  const rows = createProvisioningStore(store)
  const { clock } = store

  const bodyOf = async ({ accountId, deviceId, mac }: Waiting) => {
    const device = await store.records.find(accountId, deviceKind, deviceId)
    const place = { account_id: accountId, device_id: deviceId, mac_address: mac }
    return provisionedMac(device?.doc) === undefined
      ? { device, body: { operation: 'remove', ...place } }
      : { device, body: { operation: 'update', ...place, device: { id: deviceId, ...device?.doc } } }
  }

  const send = async (url: string, body: Json): Promise<Reply> => {
    const { authorization_header: authorization, timeout_ms: timeoutMs } = await settings.of('provisioner')
    const headers = authorization === undefined ? {} : { authorization }
    try {
      const call = { method: 'POST', url, json: body, headers, timeoutMs, maxBytes: mostReplyBytes } as const
      const { status, text } = await outgoing.send(call)
      return { isTaken: status >= 200 && status < 300, status, text }
    } catch (error) {
      return { isTaken: false, text: error instanceof Error ? error.message : String(error) }
    }
  }

  const settle = async (waiting: Waiting, say: (set: ChangeSet) => Promise<void>) => {
    const { accountId, deviceId } = waiting
    const set = new ChangeSet({ requestId: 'provisioning' })
    await say(set)
    set.record({ accountId, kind: 'provisioning', id: deviceId, action: 'edited' })
    await store.commit(set)
  }

  const untaken = async (waiting: Waiting, doc: Json | undefined, reply: Reply): Promise<Untaken> => {
    const { accountId, deviceId, mac } = waiting
    const account = await accounts.find(accountId)
    const textIn = (key: string) => (typeof doc?.[key] === 'string' ? doc[key] : undefined)
    return {
      accountId,
      resellerId: account ? await accounts.resellerOf(account) : accountId,
      deviceId,
      mac,
      name: textIn('name'),
      ownerId: textIn('owner_id'),
      reply: replyOf(reply.status, reply.text),
    }
  }

  const tell = async (waiting: Waiting, url: string) => {
    const { device, body } = await bodyOf(waiting)
    const reply = await send(url, body)
    if (reply.isTaken) {
      return settle(waiting, async (set) => {
        rows.done(set, waiting)
        await alerts.withdraw(set, causeOf(waiting))
      })
    }
    return settle(waiting, async (set) => {
      rows.failed(set, waiting, clock.now() + pauseAfter(waiting.failures + 1))
      // Only the first failure is news, also when somebody has cleared the alert since.
      if (waiting.failures === 0)
        await alerts.raise(set, causeOf(waiting), alertOf(await untaken(waiting, device?.doc, reply)))
    })
  }

  /** A phone that has changed while the service was told of it is told again. */
  const tellSafely = async (waiting: Waiting, url: string) => {
    try {
      await tell(waiting, url)
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== 'datastore_conflict') throw error
    }
  }

  const urlOf = async () => (await settings.of('provisioner')).provisioning_url

  const round: Round = {
    name: 'provisioning',
    everySeconds: 5,
    due: async () => (await urlOf()) !== undefined && (await rows.due(clock.now(), 1)).length > 0,
    async run(signal) {
      const url = await urlOf()
      while (url !== undefined && !signal.aborted) {
        const due = await rows.due(clock.now(), perLook)
        for (const waiting of due) if (!signal.aborted) await tellSafely(waiting, url)
        if (due.length < perLook) return
      }
    },
  }

  return {
    round,

    /** Has the service told of a phone that is made, changed or removed in this change set. */
    async changed(set: ChangeSet, before: Phone | undefined, after: Phone | undefined) {
      const mac = provisionedMac(after?.doc) ?? provisionedMac(before?.doc)
      const phone = after ?? before
      if (mac === undefined || !phone || (await urlOf()) === undefined) return
      rows.queue(set, phone.accountId, phone.id, mac, clock.now())
    },
  }
}
