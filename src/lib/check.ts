/** Something in the store that is not as it has to be. */
export interface Fault {
  /** What it is about, in the words of an operator: an account and a record, a table, an index. */
  place: string
  reason: string
}

/** Looks for one kind of damage. Nothing has to rest meanwhile: what only moves is no fault. */
export interface Check {
  name: string
  /** Tells of each fault; answers with how many things were looked at. */
  run(tell: (fault: Fault) => void): Promise<number>
}
