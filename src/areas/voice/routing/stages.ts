// What the steps of a flow ring, and how steps are combined.
import type { TrunkTarget } from '../connectivity/rules.ts'
import type { CallerId } from './callers.rules.ts'
import type { GatewayTarget } from './facts.ts'

/** Targets with the same `delay_s` ring together. */
interface Rung {
  delay_s: number
  timeout_s: number
  /** The owner, if it is not the account of the call. */
  account_id?: string
  /** If it differs from that of the first target. */
  caller_id?: CallerId
  /** The called party has forwarded the call. */
  isForwarded?: boolean
}

export interface DeviceTarget extends Rung {
  type: 'device'
  device_id: string
  username?: string
  realm: string
  owner_id?: string
  /** user@host, for the record. */
  presence_id?: string
  /** Where a device is that does not register. */
  uri?: string
  /** The current address of the name in `uri`: the call is sent there. */
  proxy?: string
  /** The callee and billing of a call that leaves for a SIP URI. */
  called?: string
  account_billing?: string
}

type CarrierTarget = Rung & GatewayTarget & { type: 'gateway' }

/** A server of the customer that takes the calls of a number. */
type ServerTarget = Rung &
  Omit<TrunkTarget, 'failover' | 'isRenamed'> &
  Pick<DeviceTarget, 'proxy' | 'called' | 'account_billing'>

type Target = DeviceTarget | CarrierTarget | ServerTarget

interface LeftOut {
  type: string
  id: string
  reason: string
}

/** How the call ends if no one takes it. */
export interface Ending {
  reason: string
  /** The module that needs a media server. */
  module?: string
  sipCode?: number
  sipReason?: string
}

/** The result of a part of a flow. */
export interface Stage {
  targets: readonly Target[]
  leftOut: readonly LeftOut[]
  /** Time until the next part begins. */
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

/** At the same time. Endings of single stages do not count. */
export const together = (stages: readonly Stage[]): Stage => ({
  targets: stages.flatMap(({ targets }) => targets),
  leftOut: stages.flatMap(({ leftOut: out }) => out),
  seconds: Math.max(0, ...stages.map(({ seconds }) => seconds)),
})

/** One after the other. The last ending counts. */
export const inOrder = (first: Stage, second: Stage): Stage => {
  const end = second.end ?? first.end
  return { ...together([first, later(second, first.seconds)]), ...(end ? { end } : {}) }
}

/** A stage without targets is not delayed. */
export const delayed = (stage: Stage, seconds: number) =>
  stage.targets.length === 0 ? stage : later(stage, seconds)
