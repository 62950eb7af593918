import { Refusal } from '../storage/saved-store.ts'

/** The file is no backup, or not the whole of one. */
export const damaged = (what: string) => new Refusal(`the backup is damaged: ${what}`)
