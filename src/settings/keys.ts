import { type Static, type TObjectOptions, type TProperties, type TSchema, Type } from 'typebox'
import { secretUrl } from '../lib/secrets.ts'

/** A settings document that the server reads: its name in the API, and the schema of one section (`default`, a zone, a node). */
export interface SettingsDocument<Shape extends TSchema = TSchema> {
  readonly id: string
  readonly shape: Shape
}

export type Documents = Readonly<Record<string, TSchema>>

export type SettingsOf<Document extends SettingsDocument> = Static<Document['shape']>

export const settingsDocument = <Shape extends TSchema>(
  id: string,
  shape: Shape,
): SettingsDocument<Shape> => ({
  id,
  shape,
})

/** One section of a document. Unknown keys are stored and reported as warnings. */
export const section = <const Keys extends TProperties>(
  about: string,
  keys: Keys,
  notes: TObjectOptions = {},
) => Type.Object(keys, { additionalProperties: true, description: about, ...notes })

/** Marks an object that may contain names next to its keys, each with the same keys for that name. */
export const keysByName = { 'x-names': 'keys' } as const

/** Marks an object that may contain names next to its keys, each with its own value. */
export const dataByName = { 'x-names': 'data' } as const

/** Unit of a number, unless its name ends with it (`_s`, `_ms`, `_days`, ...). Part of the schema. */
export const unit = (name: string) => ({ 'x-unit': name }) as const

interface NumberBounds {
  minimum?: number
  maximum?: number
  default?: number
  /** Its unit, unless the name ends with it. */
  unit?: string
}

export const wholeNumber = ({ unit: counted, ...bounds }: NumberBounds, description: string) =>
  Type.Integer({ ...bounds, ...(counted === undefined ? {} : unit(counted)), description })

export const flag = (fallback: boolean, description: string) =>
  Type.Boolean({ default: fallback, description })

export const country = (description: string) =>
  Type.String({ default: 'US', minLength: 2, maxLength: 2, description })

/** The URL of a request to another server. */
export const address = (description: string) =>
  Type.Optional(Type.String({ pattern: '^https?://', maxLength: 2048, ...secretUrl, description }))
