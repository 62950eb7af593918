// Whom a call rings, and when: what one step comes to, and how steps are put together.
import type { TrunkTarget } from '../connectivity/rules.ts'
import type { CallerId } from './callers.rules.ts'
import type { GatewayTarget } from './facts.ts'

/** When a target begins to ring, and for how long. Those with one `delay_s` ring together. */
interface Rung {
  delay_s: number
  timeout_s: number
  /** Whose it is, where that is not the account whose call it is. */
  account_id?: string
  /** What it is shown, where that is not what the first one is shown. */
  caller_id?: CallerId
  /** Whoever was called has their calls go there. */
  isForwarded?: boolean
}

export interface DeviceTarget extends Rung {
  type: 'device'
  device_id: string
  username?: string
  realm: string
  owner_id?: string
  /** user@host: for the record. */
  presence_id?: string
  /** Of a device that does not register: where it is. */
  uri?: string
  /** The address that the name in `uri` leads to now: the call is sent there. */
  proxy?: string
  /** Of a call that leaves the platform for a SIP URI: who is called, and how its account pays for it. */
  called?: string
  account_billing?: string
}

type CarrierTarget = Rung & GatewayTarget & { type: 'gateway' }

/** A server of a customer's own, which takes the calls of a number. */
type ServerTarget = Rung &
  Omit<TrunkTarget, 'failover' | 'isRenamed'> &
  Pick<DeviceTarget, 'proxy' | 'called' | 'account_billing'>

type Target = DeviceTarget | CarrierTarget | ServerTarget

/** Who is not rung, and why. */
interface LeftOut {
  type: string
  id: string
  reason: string
}

/** How a call that nobody takes is answered. */
export interface Ending {
  reason: string
  /** The module that would have gone on. */
  module?: string
  sipCode?: number
  sipReason?: string
}

/** What a part of a flow comes to. */
export interface Stage {
  targets: readonly Target[]
  leftOut: readonly LeftOut[]
  /** How long until the next one begins. */
  seconds: number
  end?: Ending
}

export const nothing: Stage = { targets: [], leftOut: [], seconds: 0 }

export const leftOut = (type: string, id: string, reason: string): Stage => ({
  ...nothing,
  leftOut: [{ type, id, reason }],
})

export const ended = (end: Ending): Stage => ({ ...nothing, end })

const later = (stage: Stage, seconds: number): Stage => ({
  ...stage,
  targets: stage.targets.map((target) => ({ ...target, delay_s: target.delay_s + seconds })),
  seconds: stage.seconds + seconds,
})

/** All at once. What would be said when nobody takes the call is said by none of several. */
export const together = (stages: readonly Stage[]): Stage => ({
  targets: stages.flatMap(({ targets }) => targets),
  leftOut: stages.flatMap(({ leftOut: out }) => out),
  seconds: Math.max(0, ...stages.map(({ seconds }) => seconds)),
})

/** One when the other has rung out; how the last one ends is how they end. */
export const inOrder = (first: Stage, second: Stage): Stage => {
  const end = second.end ?? first.end
  return { ...together([first, later(second, first.seconds)]), ...(end ? { end } : {}) }
}

/** Some time later; of a stage that rings nobody nothing is waited for. */
export const delayed = (stage: Stage, seconds: number) =>
  stage.targets.length === 0 ? stage : later(stage, seconds)
