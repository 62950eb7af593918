import type { ChangeSet, Signal } from './change-set.ts'

/** Names must be unique. */
export const signal = <Told>(name: string): Signal<Told> => ({ name })

/** Adds consequences to the change set, or throws to reject it. No external calls. `together`: all sets of the commit. */
type Hear<Told> = (set: ChangeSet, told: Told, together: readonly ChangeSet[]) => Promise<void> | void

export interface SignalHandler {
  name: string
  hear: Hear<unknown>
}

/**
 * @example
 * on(accountDeleted, (set, account) => files.removeWith(set, account))
 */
export const on = <Told>({ name }: Signal<Told>, hear: Hear<Told>): SignalHandler => ({
  name,
  // The name implies the type: `ChangeSet.tell` checks it.
  hear: (set, told, together) => hear(set, told as Told, together),
})

/** Also delivers signals that handlers add. */
export const deliver = async (
  sets: readonly ChangeSet[],
  hearings: ReadonlyMap<string, readonly SignalHandler[]>,
) => {
  for (const set of sets)
    for (let next = set.told.shift(); next; next = set.told.shift())
      for (const { hear } of hearings.get(next.signal.name) ?? []) await hear(set, next.told, sets)
}
