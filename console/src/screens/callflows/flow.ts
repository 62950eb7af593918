import { isObject, type Json, type JsonObject } from '../../lib/json.ts'

/** A step of a callflow as the API stores it: `module`, its `data`, and further steps in `children` by branch key. */
export type Step = JsonObject

/** The branch keys from the first step to a step. */
export type Path = readonly string[]

/** The branch that follows if no other one fits. */
export const nextKey = '_'

export const moduleOf = ({ module }: Step) => (typeof module === 'string' ? module : '')

export const dataOf = ({ data }: Step): JsonObject => (isObject(data) ? data : {})

const childrenOf = ({ children }: Step): JsonObject => (isObject(children) ? children : {})

export const childAt = (step: Step, key: string): Step | undefined => {
  const child = childrenOf(step)[key]
  return isObject(child) ? child : undefined
}

/** Branch keys in the order in which they are shown: the next step is the last one. */
export const branchesOf = (step: Step): string[] =>
  Object.keys(childrenOf(step)).filter((key) => key !== nextKey && childAt(step, key) !== undefined)

export const stepAt = (flow: Step | undefined, path: Path) =>
  path.reduce<Step | undefined>((step, key) => step && childAt(step, key), flow)

const withChild = (step: Step, key: string, child: Step | undefined): Step => {
  const { [key]: _, ...others } = childrenOf(step)
  if (child) return { ...step, children: { ...childrenOf(step), [key]: child } }
  return { ...step, children: others }
}

/** The flow with another step at a path; without it, if the change returns none. */
export const changeAt = (
  flow: Step | undefined,
  [key, ...rest]: Path,
  change: (step: Step | undefined) => Step | undefined,
): Step | undefined => {
  if (key === undefined) return change(flow)
  return flow && withChild(flow, key, changeAt(childAt(flow, key), rest, change))
}

/** A step with another one at the end of its chain of next steps. */
const followedBy = (step: Step, last: Step | undefined): Step => {
  if (!last) return step
  const next = childAt(step, nextKey)
  return withChild(step, nextKey, next ? followedBy(next, last) : last)
}

/** Puts a step at a path. A step that is already there follows after it. */
export const insertAt = (flow: Step | undefined, path: Path, step: Step) =>
  changeAt(flow, path, (there) => followedBy(step, there))

/** Removes a step with all steps below it. `keepsNext`: its next step takes its place. */
export const removeAt = (flow: Step | undefined, path: Path, keepsNext: boolean) =>
  changeAt(flow, path, (step) => (keepsNext && step ? childAt(step, nextKey) : undefined))

/** Moves a step with all steps below it to a branch of another step. */
export const moveTo = (flow: Step | undefined, from: Path, to: Path) => {
  const step = stepAt(flow, from)
  return step ? insertAt(removeAt(flow, from, false), to, step) : flow
}

/** A step changes places with the one above it, which becomes its next step. Other branches of both stay with them. */
export const moveUp = (flow: Step | undefined, path: Path) => {
  const key = path.at(-1)
  if (key === undefined) return flow
  return changeAt(flow, path.slice(0, -1), (upper) => {
    const lower = upper && childAt(upper, key)
    return lower && withChild(lower, nextKey, withChild(upper, key, childAt(lower, nextKey)))
  })
}

interface Place {
  path: Path
  step: Step
}

/** All steps from one on, in the order in which they are shown. */
export const placesIn = (step: Step | undefined, path: Path = []): Place[] => {
  if (!step) return []
  const below = [...branchesOf(step), nextKey].flatMap((key) => placesIn(childAt(step, key), [...path, key]))
  return [{ path, step }, ...below]
}

export const isBelow = (path: Path, other: Path) => other.every((key, index) => path[index] === key)

/** The names of records in the flow, as the answer of the API has them. */
export const nameIn = (metadata: Json | undefined, id: string) => {
  const known = isObject(metadata) ? metadata[id] : undefined
  return isObject(known) && typeof known.name === 'string' ? known.name : undefined
}
