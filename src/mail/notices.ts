import { byLanguage, type Language, type Localized } from './languages.ts'

/** A name in double braces in a template. */
interface Macro {
  friendlyName: string
  description: string
  /** Shown in previews. */
  example: Localized
  /** For the addressee only: not allowed in subjects, or for other recipients. */
  isSecret?: boolean
}

export type Macros = Readonly<Record<string, Macro>>

interface NoticeDefinition<M extends Macros> {
  friendlyName: string
  category: 'account' | 'billing' | 'system' | 'user'
  /** `original`: the users it is about. `admins`: the admins of the account. */
  to: 'original' | 'admins'
  macros: M
}

/** The built-in texts of a notice. */
export interface Wording {
  subject: string
  text: string
  html: string
}

/** A subject and the paragraphs of the text. */
type Draft = readonly [subject: string, ...paragraphs: string[]]

/** A notice as its area declares it, without the common macros. */
export interface Declared<M extends Macros = Macros> extends NoticeDefinition<M> {
  id: string
  wordings: Readonly<Record<Language, Wording>>
}

/** A notice with all its macros. */
export type Notice = Declared

export const macro = (friendlyName: string, description: string, example: Localized): Macro => ({
  friendlyName,
  description,
  example,
})

export const secret = (friendlyName: string, description: string, example: Localized): Macro => ({
  ...macro(friendlyName, description, example),
  isSecret: true,
})

/** A paragraph that is a macro in angle brackets becomes a link. */
const htmlOf = (paragraph: string) => {
  const [, address] = /^<(\{\{.*\}\})>$/.exec(paragraph) ?? []
  return address
    ? `<p><a href="${address}">${address}</a></p>`
    : `<p>${paragraph.replaceAll('\n', '<br>')}</p>`
}

const plainOf = (paragraph: string) => paragraph.replace(/^<(\{\{.*\}\})>$/, '$1')

const wordingOf = (language: Language, [subject, ...paragraphs]: Draft): Wording => ({
  subject,
  text: `${paragraphs.map(plainOf).join('\n\n')}\n`,
  html: `<!DOCTYPE html>\n<html lang="${language}"><body>\n${paragraphs.map(htmlOf).join('\n')}\n</body></html>\n`,
})

export const notice = <const M extends Macros>(
  id: string,
  definition: NoticeDefinition<M>,
  drafts: Readonly<Record<Language, Draft>>,
): Declared<M> => ({
  id,
  ...definition,
  wordings: byLanguage((language) => wordingOf(language, drafts[language])),
})

const sampleAccountId = '9a3c1f0e5b7d4c2a8e6f0b1d3c5a7e90'

const commonMacros = {
  'account.id': macro('Account id', 'Account of the email', sampleAccountId),
  'account.name': macro('Account name', 'Name of the account', 'Acme'),
  'account.realm': macro('Account realm', 'Realm of the account', 'acme.example'),
} as const satisfies Macros

export const userMacros = {
  'user.first_name': macro('First name', 'First name of the user', 'Ada'),
  'user.last_name': macro('Last name', 'Last name of the user', 'Lovelace'),
  'user.username': macro('User name', 'User name for the sign-in', 'ada'),
} as const satisfies Macros

/** Declared notices, by id. */
export type Definitions = Readonly<Record<string, Declared>>

export type Notices = ReturnType<typeof createNotices>

export const createNotices = (definitions: Definitions) => {
  const all = new Map<string, Notice>()
  for (const [id, definition] of Object.entries(definitions))
    all.set(id, { ...definition, macros: { ...commonMacros, ...definition.macros } })
  return {
    ids: [...all.keys()].sort(),
    isId: (text: string) => all.has(text),
    of(id: string): Notice {
      const notice = all.get(id)
      if (!notice) throw new Error(`no area of this server owns the notice ${id}`)
      return notice
    },
  }
}

export const carriesSecret = ({ macros }: Notice) => Object.values(macros).some(({ isSecret }) => isSecret)

export type CreationNotice = 'mail' | 'none'

export const creationWishes = { send_email_on_creation: { flag: 'false: no email is sent' } }

export const creationNotice = ({ value }: { value(name: string): unknown }): CreationNotice =>
  String(value('send_email_on_creation')) === 'false' ? 'none' : 'mail'
