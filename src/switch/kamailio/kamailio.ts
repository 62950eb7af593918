import { failure, mediaSwitchMissing } from '../../lib/failure.ts'
import type { Outgoing } from '../../outgoing/client.ts'
import type { Settings } from '../../settings/settings.ts'
import { assertAllResponded, quickcallFailed } from '../answers.ts'
import type { Batches, Heard, Identity, Notice, Party, Phone, Quickcall } from '../media-switch.ts'
import { callAt, callsAt, type EdgeCall, endCall, endCallsAt } from './calls.ts'
import {
  askAll,
  askAllInParts,
  askOne,
  type Edge,
  edgeSettings,
  edgesOf,
  type Resting,
  watched,
} from './edges.ts'
import { ringPhones } from './quickcall.ts'
import { type Contact, contactsAt, removeRegistration } from './registrations.ts'
import { notifyRequest, paramsOf } from './requests.ts'
import { type EdgeState, stateOf } from './states.ts'

interface Deps {
  settings: Settings
  outgoing: Outgoing
}

// Phones that are looked up within one timeout.
const maxRowsPerCall = 100

export type MediaSwitch = ReturnType<typeof createMediaSwitch>

/**
 * Requests to the edges of the settings, which run Kamailio. They fail with `media_switch_unreachable` if no edge answers.
 * Without edges there are no registrations and no calls, and requests to a phone fail with `no_media_switch`.
 */
export const createMediaSwitch = ({ settings, outgoing }: Deps) => {
  const resting: Resting = new Map()

  /** `skips`: edges that did not answer recently are not waited for. */
  const edgesNow = async ({ skips = false } = {}) => {
    const kamailio = await edgeSettings(settings)
    if (!kamailio) return { edges: [], timeoutMs: 0 }
    const edges = edgesOf({ outgoing, settings: kamailio })
    return { edges: edges.map((edge) => watched(edge, resting, { skips })), timeoutMs: kamailio.timeout_ms }
  }

  const contactsOf = async (phones: readonly Phone[], how?: { skips: boolean }) => {
    const { edges, timeoutMs } = await edgesNow(how)
    const heard = await askAllInParts(edges, [phones], maxRowsPerCall, (edge, part) =>
      contactsAt(edge, part, timeoutMs),
    )
    return { ...heard, timeoutMs }
  }

  const isPresent = async () => (await edgeSettings(settings)) !== undefined

  const assertPresent = async () => {
    if (!(await isPresent())) throw failure(mediaSwitchMissing, {})
  }

  /**
   * `hosts`: the edges to ask, all if absent. One that is no longer in the settings is not asked. Returns the hosts of
   * edges that did not answer.
   */
  const tellInParts = async <Item>(
    batches: Batches<Item>,
    size: number,
    hosts: readonly string[] | undefined,
    tell: (edge: Edge, part: readonly Item[], timeoutMs: number) => Promise<void>,
  ): Promise<readonly string[]> => {
    const { edges, timeoutMs } = await edgesNow()
    const asked = hosts ? edges.filter(({ host }) => hosts.includes(host)) : edges
    if (asked.length === 0) return []
    const heard = await askAllInParts(asked, batches, size, async (edge, part) => {
      await tell(edge, part, timeoutMs)
      return []
    })
    return heard.unreachable
  }

  const callOf = async (accountId: string, callId: string) => {
    const { edges } = await edgesNow()
    const { answers, unreachable } = await askAll(edges, (edge) => callAt(edge, accountId, callId))
    const call = answers.find(({ found }) => found)?.found
    if (!call) assertAllResponded(unreachable)
    return call
  }

  return {
    /** Whether there is an edge to ask. */
    isPresent,

    registrations: (phones: readonly Phone[]): Promise<Heard<Contact>> => contactsOf(phones, { skips: true }),

    endRegistrations: (phones: Batches<Identity>, hosts?: readonly string[]) =>
      tellInParts(phones, maxRowsPerCall, hosts, removeRegistration),

    /** Sends it to each contact of a phone. Returns their number. */
    async notify(phone: Phone, notice: Notice): Promise<number> {
      await assertPresent()
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

    /** `ended`: the result. */
    async startQuickcall(call: Quickcall): Promise<{ ended: Promise<Readonly<Record<string, unknown>>> }> {
      await assertPresent()
      const { found, timeoutMs } = await contactsOf(call.phones)
      if (found.length === 0) throw failure(quickcallFailed, { reason: 'none of the phones is registered' })
      return { ended: ringPhones(call, found, timeoutMs) }
    },

    async calls(accountId: string): Promise<Heard<EdgeCall>> {
      const { edges } = await edgesNow({ skips: true })
      const { answers, unreachable } = await askAll(edges, (edge) => callsAt(edge, accountId))
      const found = answers.flatMap((answer) => answer.found)
      return { found: found.toSorted((one, other) => one.began - other.began), unreachable }
    },

    call: callOf,

    async states(): Promise<EdgeState[]> {
      const { edges } = await edgesNow()
      return Promise.all(edges.map(stateOf))
    },

    /** False: unknown call. */
    async hangUp(accountId: string, callId: string): Promise<boolean> {
      const call = await callOf(accountId, callId)
      return call ? askOne(call.at, () => endCall(call)) : false
    },

    /** Ends calls with a party in one of the accounts that is to end, except calls to emergency numbers. */
    endCalls: (
      accountIds: Batches<string>,
      isToEnd: (party: Party) => Promise<boolean>,
      hosts?: readonly string[],
    ) => tellInParts(accountIds, 1, hosts, (edge, [accountId = '']) => endCallsAt(edge, accountId, isToEnd)),
  }
}
