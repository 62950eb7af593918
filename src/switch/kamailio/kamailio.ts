import { failure } from '../../lib/failure.ts'
import type { Outgoing } from '../../outgoing/client.ts'
import type { Settings } from '../../settings/settings.ts'
import { assertAllResponded, quickcallFailed } from '../answers.ts'
import {
  type ActiveCall,
  type Batches,
  type MediaSwitch,
  noMediaSwitch,
  type Phone,
  type Registration,
} from '../media-switch.ts'
import { switchSettings } from '../settings.ts'
import { callAt, callsAt, type EdgeCall, endCall, endCallsAt } from './calls.ts'
import {
  askAll,
  askAllInParts,
  askOne,
  createResting,
  type Edge,
  type EdgeSettings,
  type Resting,
  readingFrom,
  watchedEdges,
} from './edges.ts'
import { createRinging } from './quickcall.ts'
import { type Contact, contactsAt, removeRegistration } from './registrations.ts'
import { notifyRequest, paramsOf } from './requests.ts'

interface EdgeDeps {
  outgoing: Outgoing
  settings: EdgeSettings
  resting: Resting
}

// Phones that are looked up within one timeout.
const maxRowsPerCall = 100

const registrationOf = ({ at: _, path: __, ...registration }: Contact): Registration => registration

const activeOf = ({ at: _, entry: __, id: ___, legs: ____, ...call }: EdgeCall): ActiveCall => call

/** Edges that run Kamailio, over JSON-RPC. */
const createKamailio = ({ outgoing, settings, resting }: EdgeDeps): MediaSwitch => {
  const edges = watchedEdges({ outgoing, settings }, resting)
  const reading = readingFrom(edges, resting)
  const { timeout_ms: timeoutMs } = settings

  const contactsOf = (phones: readonly Phone[], asked = edges) =>
    askAllInParts(asked, [phones], maxRowsPerCall, (edge, part) =>
      contactsAt(edge, { phones: part, timeoutMs }),
    )

  /** Returns the hosts of edges that did not answer. An edge that is no longer in the settings is not asked. */
  const tellInParts = async <Item>(
    batches: Batches<Item>,
    size: number,
    hosts: readonly string[] | undefined,
    tell: (edge: Edge, part: readonly Item[]) => Promise<void>,
  ) => {
    const asked = hosts ? edges.filter(({ host }) => hosts.includes(host)) : edges
    if (hosts && asked.length === 0) return []
    const heard = await askAllInParts(asked, batches, size, async (edge, part) => {
      await tell(edge, part)
      return []
    })
    return heard.unreachable
  }

  const callOf = async (accountId: string, callId: string) => {
    const { answers, unreachable } = await askAll(edges, (edge) => callAt(edge, accountId, callId))
    const call = answers.find(({ found }) => found)?.found
    if (!call) assertAllResponded(unreachable)
    return call
  }

  return {
    async registrations(phones) {
      const { found, unreachable } = await contactsOf(phones, reading)
      return { found: found.map(registrationOf), unreachable }
    },

    endRegistrations: (batches, hosts) =>
      tellInParts(batches, maxRowsPerCall, hosts, (edge, part) =>
        removeRegistration(edge, { phones: part, timeoutMs }),
      ),

    async notify(phone, notice) {
      const { found } = await contactsOf([phone])
      await Promise.all(
        found.map((contact) =>
          askOne(contact.at, () =>
            contact.at.ask('tm.t_uac_start', paramsOf(contact, notifyRequest(contact, notice))),
          ),
        ),
      )
      return found.length
    },

    async startQuickcall(call) {
      const { found } = await contactsOf(call.phones)
      if (found.length === 0) throw failure(quickcallFailed, { reason: 'none of the phones is registered' })
      return { ended: createRinging(call, found, timeoutMs).run() }
    },

    async calls(accountId) {
      const { answers, unreachable } = await askAll(reading, (edge) => callsAt(edge, accountId))
      const found = answers.flatMap((answer) => answer.found.map(activeOf))
      return { found: found.toSorted((one, other) => one.began - other.began), unreachable }
    },

    async call(accountId, callId) {
      const call = await callOf(accountId, callId)
      return call && activeOf(call)
    },

    async hangUp(accountId, callId) {
      const call = await callOf(accountId, callId)
      return call ? askOne(call.at, () => endCall(call)) : false
    },

    endCalls: (accountIds, isToEnd, hosts) =>
      tellInParts(accountIds, 1, hosts, (edge, [accountId = '']) => endCallsAt(edge, accountId, isToEnd)),
  }
}

interface Deps {
  settings: Settings
  outgoing: Outgoing
}

/** The switch of the settings, which are read for each call. */
export const createMediaSwitch = ({ settings, outgoing }: Deps): MediaSwitch => {
  const resting = createResting()

  const chosen = async () => {
    const { adapter, kamailio } = await settings.of(switchSettings)
    return adapter === 'kamailio' && kamailio.rpc_urls.length > 0
      ? createKamailio({ outgoing, settings: kamailio, resting })
      : noMediaSwitch
  }

  return {
    registrations: async (phones) => (await chosen()).registrations(phones),
    endRegistrations: async (phones, hosts) => (await chosen()).endRegistrations(phones, hosts),
    notify: async (phone, notice) => (await chosen()).notify(phone, notice),
    startQuickcall: async (call) => (await chosen()).startQuickcall(call),
    calls: async (accountId) => (await chosen()).calls(accountId),
    call: async (accountId, callId) => (await chosen()).call(accountId, callId),
    hangUp: async (accountId, callId) => (await chosen()).hangUp(accountId, callId),
    endCalls: async (accountIds, isToEnd, hosts) => (await chosen()).endCalls(accountIds, isToEnd, hosts),
  }
}
