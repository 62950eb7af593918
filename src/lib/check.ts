export interface Fault {
  /** For operators: an account and a record, a table, an index. */
  place: string
  reason: string
}

/** Looks for one kind of damage while the store is in use. */
export interface Check {
  name: string
  /** Returns the number of checked items. */
  run(tell: (fault: Fault) => void): Promise<number>
}
