import type { Static, TSchema } from 'typebox'
import type { Json } from './json.ts'
import { type Fields, id, integer, must, open } from './schema.ts'

const served = { readOnly: true }
const time = integer({ ...served, description: 'Gregorian seconds' })

export interface RecordShape {
  /** What a client writes. Computed fields are not named, so that a record sent back as it was read never fails. */
  body: TSchema
  /** What a client reads. */
  record: TSchema
  /** Keys that only the server sets; in requests they are ignored. */
  computed: readonly string[]
}

interface Notes<Computed extends Fields, Secret extends Fields> {
  title: string
  description: string
  /** Fields that only the server sets, beyond the ID and the times. */
  computed?: Computed
  /** Fields that clients write and never read. */
  writeOnly?: Secret
}

/** The shapes of a record, from one list of fields. */
export const recordShape = <
  const F extends Fields,
  const Computed extends Fields = Record<never, never>,
  const Secret extends Fields = Record<never, never>,
>(
  fields: F,
  { title, description, computed, writeOnly }: Notes<Computed, Secret>,
) => {
  const own = { id: must(id(served)), created: time, ...(computed as Computed), modified: time }
  return {
    body: open({ ...fields, ...(writeOnly as Secret) }, { title, description }),
    record: open({ ...own, ...fields }, { title: `${title} record` }),
    computed: Object.keys(own) as readonly string[],
  } satisfies RecordShape
}

/** What is stored of a record: its fields, and those that no schema names. */
export type StoredDoc<Body extends TSchema> = Static<Body> & { readonly [custom: string]: unknown }

/** A body without the fields that the server computes. */
export const storedPart = <Doc extends object>(data: Json, { computed }: Pick<RecordShape, 'computed'>) => {
  const doc: Json = { ...data }
  for (const key of computed) delete doc[key]
  return doc as Doc
}
