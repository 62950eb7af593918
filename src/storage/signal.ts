import type { ChangeSet, Signal } from './change-set.ts'

/** The name is unique: two signals of one name would be heard as one. */
export const signal = <Told>(name: string): Signal<Told> => ({ name })

/**
 * Adds to the change set whatever follows from what was told, or throws to refuse it. The outside is not asked.
 * `together` are all change sets that are committed with it, itself among them.
 */
type Hear<Told> = (set: ChangeSet, told: Told, together: readonly ChangeSet[]) => Promise<void> | void

/** Somebody who hears a signal. */
export interface SignalHandler {
  name: string
  hear: Hear<unknown>
}

/**
 * @example
 * on(accountLeaving, (set, account) => files.removeWith(set, account))
 */
export const on = <Told>({ name }: Signal<Told>, hear: Hear<Told>): SignalHandler => ({
  name,
  // A signal of this name carries nothing else: `ChangeSet.tell` takes what the signal says.
  hear: (set, told, together) => hear(set, told as Told, together),
})

/** Lets everything that change sets tell be heard, and what is told meanwhile too. */
export const deliver = async (
  sets: readonly ChangeSet[],
  hearings: ReadonlyMap<string, readonly SignalHandler[]>,
) => {
  for (const set of sets)
    for (let next = set.told.shift(); next; next = set.told.shift())
      for (const { hear } of hearings.get(next.signal.name) ?? []) await hear(set, next.told, sets)
}
