import { hash } from 'node:crypto'

/** The id of a record that is made of a part of a document, and has none there: the same whenever it is converted. */
export const derivedId = (database: string, id: string, what: string) =>
  hash('sha256', JSON.stringify([database, id, what]), 'hex').slice(0, 32)
