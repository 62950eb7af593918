import type { Job, JobKind } from '../../../jobs/queue.ts'
import { type Json, present } from '../../../lib/json.ts'
import { withoutEchoes } from '../../../lib/secrets.ts'
import { ChangeSet } from '../../../storage/change-set.ts'
import type { Accounts } from '../../accounts/accounts/operations.ts'
import type { AreaDeps } from '../../area.ts'
import type { Alerts } from '../../events/alerts/operations.ts'
import type { Alert } from '../../events/alerts/schema.ts'
import type { DeviceRecord } from '../devices/operations.ts'
import { provisioningSettings } from './settings.ts'

/** The MAC address of a phone that is provisioned. Undefined: it is not. */
const provisionedMac = (doc: Json | undefined): string | undefined => {
  const { provision, mac_address: mac } = doc ?? {}
  const isPhone = typeof provision === 'object' && provision !== null && typeof mac === 'string' && mac !== ''
  return isPhone ? mac : undefined
}

const minuteMs = 60_000
const pausesMs = [1, 5, 15, 60].map((minutes) => minutes * minuteMs)

const maxReplyLength = 2000

const provisioningAlert = (
  { accountId, id, payload: { mac } }: Job<KnownPhone>,
  { status, text, doc = {} }: Reply,
  resellerId: string,
): Alert => {
  const { name, owner_id: ownerId } = doc
  return {
    title: 'Provisioning Error',
    message: `The settings of the phone ${typeof name === 'string' ? name : id} (${mac}) could not be sent to the provisioning service.`,
    category: 'provisioner',
    level: 'error',
    metadata: {
      device_id: id,
      mac_address: mac,
      ...present({ status }),
      reply: text.slice(0, maxReplyLength),
    },
    from: [
      { type: 'account', value: accountId },
      ...(typeof ownerId === 'string' ? [{ type: 'user' as const, value: ownerId }] : []),
    ],
    to: [...new Set([accountId, resellerId])].map((type) => ({ type, value: 'admins' })),
  }
}

interface Deps extends Pick<AreaDeps, 'store' | 'settings' | 'outgoing'> {
  accounts: Pick<Accounts, 'find' | 'resellerOf'>
  alerts: Pick<Alerts, 'raise' | 'withdraw'>
}

type Phone = Pick<DeviceRecord, 'accountId' | 'id' | 'doc'>

interface KnownPhone {
  mac: string
}

const maxReplyBytes = 65_536

/** The response of the service. Without `status` it did not respond. */
interface Reply {
  isTaken: boolean
  status?: number
  text: string
  doc?: Json
}

/**
 * Sends settings of phones to the operator's provisioning service until it accepts them. The first failure
 * raises an alert for admins; success removes it.
 */
export const createProvisioning = ({ store, settings, outgoing, accounts, alerts }: Deps) => {
  const bodyOf = ({ accountId, id, payload: { mac } }: Job<KnownPhone>, doc: Json | undefined) => {
    const place = { account_id: accountId, device_id: id, mac_address: mac }
    return provisionedMac(doc) === undefined
      ? { operation: 'remove', ...place }
      : { operation: 'update', ...place, device: { id, ...doc } }
  }

  const send = async (url: string, body: Json): Promise<Reply> => {
    const { authorization_header: authorization, timeout_ms: timeoutMs } =
      await settings.of(provisioningSettings)
    try {
      const { status, text: reply } = await outgoing.send({
        purpose: 'provisioner',
        method: 'POST',
        url,
        json: body,
        headers: present({ authorization }),
        timeoutMs,
        maxBytes: maxReplyBytes,
        isOperators: true,
      })
      const text = withoutEchoes(reply, { ...body, authorization_header: authorization })
      return { isTaken: status >= 200 && status < 300, status, text }
    } catch (error) {
      return { isTaken: false, text: error instanceof Error ? error.message : String(error) }
    }
  }

  const resellerOf = async (accountId: string) => {
    const account = await accounts.find(accountId)
    return account ? accounts.resellerOf(account) : accountId
  }

  const urlOf = async () => (await settings.of(provisioningSettings)).provisioning_url

  const kind: JobKind<KnownPhone, Reply> = {
    kind: 'provisioning',
    maxConcurrent: 1,
    isOn: async () => (await urlOf()) !== undefined,
    pauseMs: (failures) => pausesMs[Math.min(failures, pausesMs.length) - 1] ?? minuteMs,

    async ask(job) {
      const doc = (await store.records.find(job.accountId, 'device', job.id))?.doc
      return { ...(await send(String(await urlOf()), bodyOf(job, doc))), ...present({ doc }) }
    },

    async conclude(job, reply) {
      const { accountId, id } = job
      const cause = `provisioner/${accountId}/${id}`
      const set = new ChangeSet({ requestId: 'provisioning' })
      set.record({ accountId, kind: 'provisioning', id, action: 'edited' })
      if (reply.isTaken) await alerts.withdraw(set, cause)
      // Only the first failure raises an alert, also if an admin has deleted it since.
      else if (job.attempts === 0)
        await alerts.raise(set, cause, provisioningAlert(job, reply, await resellerOf(accountId)))
      const outcome = [reply.status, reply.text].join(' ')
      return { state: reply.isTaken ? 'done' : 'waiting', sets: [set], outcome }
    },
  }

  return {
    job: kind,

    /** Adds a notification of the service to a change set that creates, changes or deletes a phone. */
    async changed(set: ChangeSet, before: Phone | undefined, after: Phone | undefined) {
      const mac = provisionedMac(after?.doc) ?? provisionedMac(before?.doc)
      const phone = after ?? before
      if (mac === undefined || !phone || (await urlOf()) === undefined) return
      const { accountId, id } = phone
      set.job<KnownPhone>({ kind: kind.kind, id, accountId, payload: { mac } })
    },
  }
}
