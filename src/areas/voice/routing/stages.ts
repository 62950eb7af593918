// The targets of the steps of a flow, and how steps are combined.
import type { RouteAnswer } from './schema.ts'

/** A target of the answer. Targets with the same `delay_s` ring together. */
type StageTarget = RouteAnswer['targets'][number] & {
  /** The called party has forwarded the call. */
  isForwarded?: boolean
}

/** How the call ends if no one takes it. */
export interface CallEnding {
  reason: string
  /** The module that needs a media server. */
  module?: string
  sipCode?: number
  sipReason?: string
}

/** The result of a part of a flow. */
export interface Stage {
  targets: readonly StageTarget[]
  leftOut: readonly RouteAnswer['left_out'][number][]
  /** Time until the next part begins. */
  seconds: number
  end?: CallEnding
}

export const noStage: Stage = { targets: [], leftOut: [], seconds: 0 }

export const leftOut = (type: string, id: string, reason: string): Stage => ({
  ...noStage,
  leftOut: [{ type, id, reason }],
})

/** One target. */
export const ringing = (target: StageTarget): Stage => ({
  targets: [target],
  leftOut: [],
  seconds: target.delay_s + target.timeout_s,
})

export const endingStage = (end: CallEnding): Stage => ({ ...noStage, end })

const later = (stage: Stage, seconds: number): Stage => ({
  ...stage,
  targets: stage.targets.map((target) => ({ ...target, delay_s: target.delay_s + seconds })),
  seconds: stage.seconds + seconds,
})

/** At the same time. Endings of single stages do not count. */
export const ringTogether = (stages: readonly Stage[]): Stage => ({
  targets: stages.flatMap(({ targets }) => targets),
  leftOut: stages.flatMap(({ leftOut: out }) => out),
  seconds: Math.max(0, ...stages.map(({ seconds }) => seconds)),
})

/** One after the other. The last ending counts. */
export const ringInOrder = (first: Stage, second: Stage): Stage => {
  const end = second.end ?? first.end
  return { ...ringTogether([first, later(second, first.seconds)]), ...(end ? { end } : {}) }
}

/** A stage without targets is not delayed. */
export const delayed = (stage: Stage, seconds: number) =>
  stage.targets.length === 0 ? stage : later(stage, seconds)
