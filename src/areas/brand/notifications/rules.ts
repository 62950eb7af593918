import type { Problems } from '../../../lib/failure.ts'
import { namesIn, usesIn } from '../../../lib/template.ts'
import { utf8Text } from '../../../lib/utf8.ts'

/** The names that a notice knows. */
type Names = Readonly<Record<string, { isSecret?: boolean }>>

interface Rule {
  type?: string
  email_addresses?: readonly string[]
}

/** A mail's body larger than this is no notice any more. */
export const maxTemplateBytes = 200_000

const unknownIn = (template: string, names: Names) =>
  namesIn(template).filter((name) => !Object.hasOwn(names, name))

// A long value many times over would make a mail of any size.
const maxUses = 1000
const longestValue = 2000

/** Names that nobody will fill in are mistakes. */
export const bodyProblems = (path: string, template: string, names: Names): Problems => {
  const unknown = unknownIn(template, names)
  if (unknown.length > 0) {
    const message = 'The template uses unknown macros'
    return { [path]: { macro: { message, cause: unknown.slice(0, 20), target: Object.keys(names) } } }
  }
  if (usesIn(template).length <= maxUses) return {}
  return { [path]: { maxItems: { message: 'The template uses too many macros', target: maxUses } } }
}

/** Subjects are kept in logs and shown in lists: no code or link may stand in one. */
export const subjectProblems = (subject: string, names: Names): Problems => {
  const secret = namesIn(subject).filter((name) => names[name]?.isSecret)
  if (secret.length === 0) return bodyProblems('subject', subject, names)
  return { subject: { forbidden: { message: 'A subject may not show a secret', cause: secret } } }
}

export const recipientProblems = (to: Rule, names: Names): Problems => {
  const isSecret = Object.values(names).some((name) => name.isSecret)
  if (isSecret && to.type !== undefined && to.type !== 'original') {
    return { 'to.type': { forbidden: { message: 'What it says is for one person only', cause: to.type } } }
  }
  if (to.type === 'specified' && !to.email_addresses?.length) {
    return {
      'to.email_addresses': {
        required: { message: 'Field is required but missing', value: 'email_addresses' },
      },
    }
  }
  return {}
}

/** A body that came as base64: raw HTML has a character that base64 has not. */
export const htmlOf = (text: string) =>
  text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)
    ? utf8Text(Buffer.from(text, 'base64'), 'body')
    : text

/** The values that a preview was given; a client that echoes the descriptions of names gives none. */
export const valuesIn = (macros: Readonly<Record<string, unknown>> | undefined): Record<string, string> =>
  Object.fromEntries(
    Object.entries(macros ?? {}).flatMap(([name, value]) =>
      typeof value === 'string' || typeof value === 'number'
        ? [[name, String(value).slice(0, longestValue)]]
        : [],
    ),
  )
