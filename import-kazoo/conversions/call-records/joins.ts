import { earlierOf, type Interaction, interactionKeyOf } from '../../../src/areas/calls/cdrs/intake/rules.ts'

/** A leg that may be one of several of an interaction that no record names. */
export interface LooseLeg {
  callId: string
  /** Gregorian seconds. */
  start: number
  /** The legs that it names, whether or not the month has them. */
  named: readonly string[]
}

/**
 * Which legs of a month belong together, of those whose records name no interaction. It depends on the records, not on
 * their order: so it is the same for whatever source they come from, and wherever reading begins again. What it
 * remembers grows with the number of such legs.
 */
export const createJoins = () => {
  const indices = new Map<string, number>()
  const callIds: string[] = []
  const starts: number[] = []
  const parents: number[] = []
  /** Legs that name one which has not come yet, by its id. */
  const waiting = new Map<string, number[]>()
  /** What records that name an interaction say, by the first of the legs that belong together. */
  const given = new Map<number, Interaction>()

  const parentOf = (index: number) => parents[index] ?? index

  const rootOf = (index: number) => {
    let root = index
    while (parentOf(root) !== root) {
      parents[root] = parentOf(parentOf(root))
      root = parentOf(root)
    }
    return root
  }

  const isBefore = (a: number, b: number) => {
    const [one = 0, other = 0] = [starts[a], starts[b]]
    return one === other ? (callIds[a] ?? '') < (callIds[b] ?? '') : one < other
  }

  const give = (index: number, interaction: Interaction) => {
    const root = rootOf(index)
    const known = given.get(root)
    given.set(root, known ? earlierOf(known, interaction) : interaction)
  }

  /** The root is the leg that began first: the interaction is its. */
  const unite = (a: number, b: number) => {
    const [one, other] = [rootOf(a), rootOf(b)]
    if (one === other) return
    const [first, second] = isBefore(one, other) ? [one, other] : [other, one]
    parents[second] = first
    const interaction = given.get(second)
    given.delete(second)
    if (interaction) give(first, interaction)
  }

  const join = (index: number, callId: string) => {
    const other = indices.get(callId)
    if (other !== undefined) return unite(index, other)
    const others = waiting.get(callId)
    if (others) others.push(index)
    else waiting.set(callId, [index])
  }

  return {
    /** A leg whose record names no interaction. Each is learned once. */
    learn({ callId, start, named }: LooseLeg) {
      if (indices.has(callId)) return
      const index = callIds.length
      indices.set(callId, index)
      callIds.push(callId)
      starts.push(start)
      parents.push(index)
      for (const other of waiting.get(callId) ?? []) unite(index, other)
      waiting.delete(callId)
      for (const other of named) if (other !== callId) join(index, other)
    },

    /** A leg whose record does; to be told when all others are known. */
    attach({ callId, named }: Pick<LooseLeg, 'callId' | 'named'>, interaction: Interaction) {
      for (const index of waiting.get(callId) ?? []) give(index, interaction)
      for (const other of named) {
        const index = indices.get(other)
        if (index !== undefined) give(index, interaction)
      }
    },

    /** The interaction that a leg shares with others; undefined when it is alone, or is the first of them. */
    interactionOf(callId: string): Interaction | undefined {
      const index = indices.get(callId)
      if (index === undefined) return undefined
      const root = rootOf(index)
      const interaction = given.get(root)
      if (interaction || root === index) return interaction
      return { time: starts[root] ?? 0, key: interactionKeyOf(callIds[root] ?? '') }
    },
  }
}

export type Joins = ReturnType<typeof createJoins>
