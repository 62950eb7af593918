import type { Outgoing } from '../outgoing/client.ts'
import type { Settings } from '../settings/settings.ts'
import { createResting } from './kamailio/edges.ts'
import { createKamailio } from './kamailio/kamailio.ts'
import { type MediaSwitch, noMediaSwitch } from './media-switch.ts'
import { switchSettings } from './settings.ts'

interface Deps {
  settings: Settings
  outgoing: Outgoing
}

/** The switch of the settings, which are read for each call. */
export const createMediaSwitch = ({ settings, outgoing }: Deps): MediaSwitch => {
  const resting = createResting()

  const chosen = async () => {
    const { adapter, kamailio } = await settings.of(switchSettings)
    const isSet = adapter === 'kamailio' && kamailio.rpc_urls.length > 0
    return isSet ? createKamailio({ outgoing, settings: kamailio, resting }) : noMediaSwitch
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
