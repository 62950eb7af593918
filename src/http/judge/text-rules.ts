import { singleLinePattern } from '../../lib/control-characters.ts'
import { isObject, type Json } from '../../lib/json.ts'
import { isMultiline } from '../../lib/schema.ts'
import { isSecretUrl, unmaskedPattern } from '../../lib/secrets.ts'

const isText = ({ type, enum: values }: Json) =>
  values === undefined && (type === 'string' || (Array.isArray(type) && type.includes('string')))

const inEach = (schemas: unknown): unknown =>
  isObject(schemas)
    ? Object.fromEntries(Object.entries(schemas).map(([key, one]) => [key, withTextRules(one)]))
    : schemas

const inList = (schemas: unknown): unknown => (Array.isArray(schemas) ? schemas.map(withTextRules) : schemas)

const parts: Readonly<Record<string, (part: unknown) => unknown>> = {
  properties: inEach,
  patternProperties: inEach,
  additionalProperties: (part) => withTextRules(part),
  items: (part) => withTextRules(part),
  anyOf: inList,
  oneOf: inList,
  allOf: inList,
}

/**
 * The schema with the rules for every text that a client sends: one line, unless the text is marked as multiline; and no
 * mask in a URL that may contain a password.
 */
export const withTextRules = (schema: unknown): unknown => {
  if (!isObject(schema) || isMultiline(schema)) return schema
  const inner = Object.fromEntries(
    Object.entries(schema).map(([key, part]) => [key, parts[key]?.(part) ?? part]),
  )
  if (!isText(schema)) return inner
  const line = { pattern: singleLinePattern }
  if (isSecretUrl(schema)) return { ...inner, allOf: [line, { pattern: unmaskedPattern }] }
  return 'pattern' in schema ? { ...inner, allOf: [line] } : { ...inner, ...line }
}
