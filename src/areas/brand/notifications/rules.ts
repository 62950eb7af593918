import type { Problems } from '../../../lib/failure.ts'
import { namesIn, usesIn } from '../../../lib/template.ts'
import { utf8Text } from '../../../lib/utf8.ts'

type Names = Readonly<Record<string, { isSecret?: boolean }>>

interface Rule {
  type?: string
  email_addresses?: readonly string[]
}

export const maxTemplateBytes = 200_000

const unknownIn = (template: string, names: Names) =>
  namesIn(template).filter((name) => !Object.hasOwn(names, name))

// Bounds the size of a mail.
const maxUses = 1000
const maxValueLength = 2000

export const bodyProblems = (path: string, template: string, names: Names): Problems => {
  const unknown = unknownIn(template, names)
  if (unknown.length > 0) {
    const message = 'The template uses unknown macros'
    return { [path]: { macro: { message, cause: unknown.slice(0, 20), target: Object.keys(names) } } }
  }
  if (usesIn(template).length <= maxUses) return {}
  return { [path]: { maxItems: { message: 'The template uses too many macros', target: maxUses } } }
}

/** Logs and lists show subjects, so they must not contain a secret. */
export const subjectProblems = (subject: string, names: Names): Problems => {
  const secret = namesIn(subject).filter((name) => names[name]?.isSecret)
  if (secret.length === 0) return bodyProblems('subject', subject, names)
  return { subject: { forbidden: { message: 'A subject must not contain a secret', cause: secret } } }
}

export const recipientProblems = (to: Rule, names: Names): Problems => {
  const isSecret = Object.values(names).some((name) => name.isSecret)
  if (isSecret && to.type !== undefined && to.type !== 'original') {
    return {
      'to.type': {
        forbidden: { message: 'This notice contains personal data: use `original`', cause: to.type },
      },
    }
  }
  if (to.type === 'specified' && !to.email_addresses?.length) {
    const required = { message: 'Field is required but missing', value: 'email_addresses' }
    return { 'to.email_addresses': { required } }
  }
  return {}
}

/** Decodes a body in base64. HTML always has a character that base64 does not. */
export const htmlOf = (text: string) =>
  text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)
    ? utf8Text(Buffer.from(text, 'base64'), 'body')
    : text

/** Values of a preview. Other members, such as echoed descriptions of macros, are ignored. */
export const sentValues = (macros: Readonly<Record<string, unknown>> | undefined): Record<string, string> =>
  Object.fromEntries(
    Object.entries(macros ?? {}).flatMap(([name, value]) =>
      typeof value === 'string' || typeof value === 'number'
        ? [[name, String(value).slice(0, maxValueLength)]]
        : [],
    ),
  )
