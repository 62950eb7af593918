import { type TProperties, Type } from 'typebox'

// What settings documents are made of.

/** One section of a document. Keys that nothing follows are kept as they are. */
export const section = <const Keys extends TProperties>(keys: Keys) =>
  Type.Object(keys, { additionalProperties: true })

export const flag = (fallback: boolean, description: string) =>
  Type.Boolean({ default: fallback, description })

export const country = () =>
  Type.String({ default: 'US', minLength: 2, maxLength: 2, description: 'ISO 3166-1' })

/** Where something outside is asked. */
export const address = (description: string) =>
  Type.Optional(Type.String({ pattern: '^https?://', maxLength: 2048, description }))
