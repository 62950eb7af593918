import type { Static, TSchema } from 'typebox'
import type { Json } from './json.ts'
import { type Fields, id, integer, must, open } from './schema.ts'

const served = { readOnly: true }
const time = integer({ ...served, description: 'Gregorian seconds' })

export interface RecordShape {
  /** For writing, without computed fields: a record can be sent back as it was read. */
  body: TSchema
  record: TSchema
  /** Set by the server, ignored in requests. */
  computed: readonly string[]
}

interface Notes<Computed extends Fields, Secret extends Fields> {
  title: string
  description: string
  /** Set by the server, in addition to the id and the times. */
  computed?: Computed
  /** Never read. */
  writeOnly?: Secret
}

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

/** Fields of the schema and further ones. */
export type StoredDoc<Body extends TSchema> = Static<Body> & { readonly [custom: string]: unknown }

/** Without computed fields. */
export const storedPart = <Doc extends object>(data: Json, { computed }: Pick<RecordShape, 'computed'>) => {
  const doc: Json = { ...data }
  for (const key of computed) delete doc[key]
  return doc as Doc
}
