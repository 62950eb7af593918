import { isUtf8 } from 'node:buffer'
import type { AccountRecord } from '../../../auth/identity.ts'
import {
  badIdentifier,
  datastoreConflict,
  failure,
  hasProblems,
  invalid,
  joinProblems,
  type Problems,
  tooLarge,
} from '../../../lib/failure.ts'
import { isId } from '../../../lib/ids.ts'
import { present, sameJson } from '../../../lib/json.ts'
import { assertUtf8Charset, utf8Text } from '../../../lib/utf8.ts'
import { type Language, languageOf, valuesIn } from '../../../mail/languages.ts'
import { commonValues, type Mail, render } from '../../../mail/mail.ts'
import type { Notice } from '../../../mail/notices.ts'
import type { Senders } from '../../../mail/senders.ts'
import { createMailAttempts } from '../../../mail/store.ts'
import type {
  Template,
  TemplateBodies,
  TemplateDoc,
  TemplateRecord,
  TemplateTexts,
} from '../../../mail/templates.ts'
import { type Author, systemScope } from '../../../storage/change-set.ts'
import { putDocument } from '../../../storage/collection.ts'
import { committed } from '../../../storage/store.ts'
import { type ImportedFile, type Importer, importingInto } from '../../adoption.ts'
import type { DepsOf } from '../../area.ts'
import {
  bodyProblems,
  htmlOf,
  maxTemplateBytes,
  recipientProblems,
  sentValues,
  subjectProblems,
} from './rules.ts'
import { Notification, type Preview } from './schema.ts'

interface Deps extends DepsOf<'store' | 'mail'> {
  senders: Senders
}

/** The account of the template; undefined: the system. */
export type Level = AccountRecord | undefined

export type BodyType = 'text/plain' | 'text/html'

/** A notice at some level. */
export interface NoticeSubject {
  level: Level
  notice: Notice
  /** The level's own version. */
  record: TemplateRecord | undefined
  /** The effective version. */
  template: Template
  /** The language of the account: its texts are shown. */
  language: Language
  revision?: string
}

const maxPreviewers = 5

/** The language of the texts that a level shows. */
const languageIn = (level: Level) => languageOf(level?.doc.language)

const differing = <T>(value: T | undefined, above: T | undefined) => (value === above ? undefined : value)

/** The settings that differ from those above: only they are the level's own. */
const ownSettings = (data: Notification, above: Template, level: Level): TemplateDoc => {
  const { type = above.to.type, email_addresses: addresses } = data.to ?? {}
  const to = type === 'specified' && addresses ? { type, email_addresses: addresses } : { type }
  return present({
    enabled: differing(data.enabled, above.isEnabled),
    subject: differing(data.subject, above.texts[languageIn(level)].subject),
    to: data.to === undefined || sameJson(to, above.to) ? undefined : to,
    from: differing(data.from, above.from?.address),
    reply_to: differing(data.reply_to, above.replyTo),
  })
}

const draftProblems = ({ macros }: Notice, { plain, html }: Preview) =>
  joinProblems(
    plain === undefined ? {} : bodyProblems('plain', plain, macros),
    html === undefined ? {} : bodyProblems('html', htmlOf(html), macros),
  )

const examplesOf = ({ macros }: Notice, language: Language) =>
  valuesIn(Object.fromEntries(Object.entries(macros).map(([name, { example }]) => [name, example])), language)

const previewersOf = ({ to }: Preview, caller: string | undefined) => {
  const addresses = to?.email_addresses ?? (caller === undefined ? [] : [caller])
  const path = 'to.email_addresses'
  if (addresses.length === 0)
    throw invalid({ [path]: { required: { message: 'Field is required but missing', value: path } } })
  if (addresses.length <= maxPreviewers) return addresses
  const message = 'Too many recipients for a preview'
  throw invalid({ [path]: { maxItems: { message, target: maxPreviewers } } })
}

const levelIdOf = (level: Level) => level?.id ?? systemScope

const draftedTexts = (texts: TemplateTexts, { subject, plain, html }: Preview): TemplateTexts => ({
  ...texts,
  ...present({ subject }),
  ...(plain === undefined && html === undefined
    ? {}
    : { bodies: present({ text: plain, html: html === undefined ? html : htmlOf(html) }) }),
})

const drafted = (
  { level, template }: NoticeSubject,
  { from, reply_to: replyTo }: Preview,
): Pick<Template, 'replyTo' | 'from'> => ({
  ...template,
  ...present({ replyTo }),
  ...(from === undefined ? {} : { from: { address: from, accountId: levelIdOf(level) } }),
})

export type Notifications = ReturnType<typeof createNotifications>

/** Texts and settings of notices, by account, and the attempts to deliver them. */
export const createNotifications = ({ store, mail, senders }: Deps) => {
  const { notices, templates } = mail
  const { collection } = templates
  const attempts = createMailAttempts(store)

  const subjectOf = async (level: Level, id: string): Promise<NoticeSubject> => {
    if (!notices.isId(id)) throw failure(badIdentifier, { cause: id.slice(0, 200) })
    const record = await collection.find(levelIdOf(level), id)
    const template = await templates.of(level, id)
    const subject = { level, notice: notices.of(id), record, template, language: languageIn(level) }
    return record ? { ...subject, revision: record.revision } : subject
  }

  const write = async (author: Author, subject: NoticeSubject, doc: TemplateDoc, hidden: TemplateBodies) => {
    const { level, notice, record: before } = subject
    const place = { accountId: levelIdOf(level), id: notice.id }
    await committed(store, author, (set) => putDocument(set, collection, place, { before, doc, hidden }))
    return subjectOf(level, notice.id)
  }

  const removeRecords = async (author: Author, records: readonly TemplateRecord[]) => {
    if (records.length > 0)
      await committed(store, author, (set) => {
        for (const record of records) collection.remove(set, record)
      })
  }

  const fromProblems = async (level: Level, from: string | undefined): Promise<Problems> => {
    if (from === undefined || !level || (await senders.maySendAs(level.id, from))) return {}
    return { from: { unverified: { message: 'No verified sender address of the account', cause: from } } }
  }

  const settingsProblems = async (level: Level, { macros }: Notice, data: Notification) =>
    joinProblems(
      data.subject === undefined ? {} : subjectProblems(data.subject, macros),
      data.to === undefined ? {} : recipientProblems(data.to, macros),
      await fromProblems(level, data.from),
    )

  return {
    subject: subjectOf,
    all: (level: Level) => Promise.all(notices.ids.map((id) => subjectOf(level, id))),
    attempts: attempts.page,

    async attempt(accountId: string, id: string) {
      const found = isId(id) ? await attempts.find(accountId, id) : undefined
      if (!found) throw failure(badIdentifier, { cause: id.slice(0, 200) })
      return found
    },

    /** What the schema cannot check. */
    async problems(level: Level, id: string, data: Notification): Promise<Problems> {
      return notices.isId(id) ? settingsProblems(level, notices.of(id), data) : {}
    },

    async create(author: Author, level: Level, id: string, data: Notification) {
      const subject = await subjectOf(level, id)
      if (subject.record) throw failure(datastoreConflict, {})
      return write(author, subject, ownSettings(data, await templates.above(level, id), level), {})
    },

    /** Replaces the settings; the bodies stay. */
    async replace(author: Author, subject: NoticeSubject, data: Notification) {
      const above = await templates.above(subject.level, subject.notice.id)
      return write(author, subject, ownSettings(data, above, subject.level), subject.record?.hidden ?? {})
    },

    async putBody(
      author: Author,
      subject: NoticeSubject,
      type: BodyType,
      { bytes, charset }: { bytes: Buffer; charset?: string },
    ) {
      if (bytes.length > maxTemplateBytes) throw failure(tooLarge, { limit: maxTemplateBytes })
      assertUtf8Charset(charset)
      const body = utf8Text(bytes, 'body')
      const problems = bodyProblems('template', body, subject.notice.macros)
      if (hasProblems(problems)) throw invalid(problems)
      const { doc = {}, hidden = {} } = subject.record ?? {}
      return write(author, subject, doc, { ...hidden, [type === 'text/html' ? 'html' : 'text']: body })
    },

    /** Removes the level's own version. */
    async remove(author: Author, { record, notice }: NoticeSubject) {
      if (!record) throw failure(badIdentifier, { cause: notice.id })
      await removeRecords(author, [record])
    },

    /** Removes all own versions of a level. Returns their ids. */
    async removeAll(author: Author, level: Level): Promise<string[]> {
      const found = await Promise.all(notices.ids.map((id) => collection.find(levelIdOf(level), id)))
      const records = found.filter((record) => record !== undefined)
      await removeRecords(author, records)
      return records.map(({ id }) => id)
    },

    /** Sends a draft to the addresses in it, else to `caller`; `account` supplies the values and the sender. */
    async preview(subject: NoticeSubject, account: AccountRecord, data: Preview, caller: string | undefined) {
      const { level, notice, template } = subject
      const { to: _those, language: tag, ...draft } = data
      const problems = joinProblems(await settingsProblems(level, notice, draft), draftProblems(notice, data))
      if (hasProblems(problems)) throw invalid(problems)
      const to = previewersOf(data, caller)
      const language = tag === undefined ? subject.language : languageOf(tag)
      const values = {
        ...examplesOf(notice, language),
        ...commonValues(account),
        ...sentValues(data.macros),
      }
      const texts = draftedTexts(template.texts[language], data)
      const content = render(drafted(subject, data), texts, values)
      await mail.sendSample(account, notice.id, to, content)
      return { to, subject: content.subject, ...present({ plain: content.text, html: content.html }) }
    },
  }
}

const roles = ['text', 'html'] as const

/** Imports notices of another system, with the bodies that mean the same here. */
export const createNoticeImporter = ({ notices, templates: { collection } }: Mail): Importer => {
  const problemOf = (id: string, { bytes }: ImportedFile): string | undefined => {
    if (bytes.length > maxTemplateBytes) return `it is larger than ${maxTemplateBytes} bytes`
    if (!isUtf8(bytes)) return 'it is not UTF-8'
    const template = bytes.toString('utf8')
    if (template.includes('{%') || template.includes('|')) return 'it has conditions or filters'
    if (!notices.isId(id)) return 'there is no such notice'
    const isKnown = !hasProblems(bodyProblems('body', template, notices.of(id).macros))
    return isKnown ? undefined : 'it uses unknown macros'
  }

  const bodiesIn = (id: string, files: readonly ImportedFile[]): TemplateBodies =>
    Object.fromEntries(
      roles.flatMap((role) => {
        const file = files.find((one) => one.role === role)
        return file && problemOf(id, file) === undefined ? [[role, file.bytes.toString('utf8')]] : []
      }),
    )

  return {
    schema: Notification,
    fileProblem: (file, { id }) => problemOf(id, file),
    async files({ accountId, id }) {
      const bodies = (await collection.find(accountId, id))?.hidden ?? {}
      return new Map(Object.entries(bodies).map(([role, body]) => [role, Buffer.from(body)]))
    },
    ...importingInto<TemplateDoc, TemplateBodies>(collection, ({ id, doc, files }) => ({
      doc: doc as TemplateDoc,
      hidden: bodiesIn(id, files),
    })),
  }
}
