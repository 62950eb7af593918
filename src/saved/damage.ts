import { Refusal } from '../storage/saved-store.ts'

export const damaged = (what: string) => new Refusal(`the backup is damaged: ${what}`)
