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
import { sameJson } from '../../../lib/json.ts'
import { assertUtf8Charset, utf8Text } from '../../../lib/utf8.ts'
import { commonValues, type Mail, render } from '../../../mail/mail.ts'
import type { Notice } from '../../../mail/notices.ts'
import type { Senders } from '../../../mail/senders.ts'
import type { Template, TemplateBodies, TemplateDoc, TemplateRecord } from '../../../mail/templates.ts'
import { type Author, ChangeSet, systemScope } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import {
  bodyProblems,
  htmlOf,
  maxTemplateBytes,
  recipientProblems,
  subjectProblems,
  valuesIn,
} from './rules.ts'
import type { Notification, Preview } from './schema.ts'
import { createAttemptLog } from './store.ts'

interface Deps {
  store: Store
  mail: Mail
  senders: Senders
}

/** Whose version is meant: an account's, or, when there is none, the system's. */
export type Level = AccountRecord | undefined

export type BodyType = 'text/plain' | 'text/html'

/** A notice at some level. */
export interface NoticeSubject {
  level: Level
  notice: Notice
  /** The level's own version. */
  record: TemplateRecord | undefined
  /** How the notice holds there. */
  template: Template
  revision?: string
}

/** A body as it was sent, with the character set of its content type. */
interface SentBody {
  bytes: Buffer
  charset?: string
}

/** A draft as it was sent. */
interface Sample {
  to: readonly string[]
  subject: string
  plain?: string
  html?: string
}

// Who looks at a draft before it is used by many.
const maxPreviewers = 5

/** What of the settings differs from above: only that is the level's own. */
const ownSettings = (data: Notification, above: Template): TemplateDoc => {
  const { enabled, subject, from, reply_to: replyTo } = data
  const { type = above.to.type, email_addresses: addresses } = data.to ?? {}
  const to = type === 'specified' && addresses ? { type, email_addresses: addresses } : { type }
  return {
    ...(enabled === undefined || enabled === above.isEnabled ? {} : { enabled }),
    ...(subject === undefined || subject === above.subject ? {} : { subject }),
    ...(data.to === undefined || sameJson(to, above.to) ? {} : { to }),
    ...(from === undefined || from === above.from?.address ? {} : { from }),
    ...(replyTo === undefined || replyTo === above.replyTo ? {} : { reply_to: replyTo }),
  }
}

export type Notifications = ReturnType<typeof createNotifications>

/** How notices are worded and sent, by account; and what became of them. */
export const createNotifications = ({ store, mail, senders }: Deps) => {
  const { notices, templates } = mail
  const attempts = createAttemptLog(store)

  const placeOf = (level: Level) => level?.id ?? systemScope

  const subjectOf = async (level: Level, id: string): Promise<NoticeSubject> => {
    if (!notices.isId(id)) throw failure(badIdentifier, { cause: id.slice(0, 200) })
    const record = await templates.at(placeOf(level), id)
    return {
      level,
      notice: notices.of(id),
      record,
      template: await templates.of(level, id),
      ...(record ? { revision: record.revision } : {}),
    }
  }

  const write = async (author: Author, subject: NoticeSubject, doc: TemplateDoc, hidden: TemplateBodies) => {
    const { level, notice, record } = subject
    const set = new ChangeSet(author)
    templates.put(set, placeOf(level), notice.id, record, { doc, hidden })
    await store.commit(set)
    return subjectOf(level, notice.id)
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

  const drafted = (
    { level, template }: NoticeSubject,
    { subject, from, reply_to, plain, html }: Preview,
  ) => ({
    ...template,
    ...(subject === undefined ? {} : { subject }),
    ...(from === undefined ? {} : { from: { address: from, accountId: placeOf(level) } }),
    ...(reply_to === undefined ? {} : { replyTo: reply_to }),
    bodies:
      plain === undefined && html === undefined
        ? template.bodies
        : {
            ...(plain === undefined ? {} : { text: plain }),
            ...(html === undefined ? {} : { html: htmlOf(html) }),
          },
  })

  const draftProblems = ({ macros }: Notice, { plain, html }: Preview) =>
    joinProblems(
      plain === undefined ? {} : bodyProblems('plain', plain, macros),
      html === undefined ? {} : bodyProblems('html', htmlOf(html), macros),
    )

  const examplesOf = ({ macros }: Notice) =>
    Object.fromEntries(Object.entries(macros).map(([name, { example }]) => [name, example]))

  const previewersOf = ({ to }: Preview, caller: string | undefined) => {
    const addresses = to?.email_addresses ?? (caller === undefined ? [] : [caller])
    if (addresses.length > 0 && addresses.length <= maxPreviewers) return addresses
    const path = 'to.email_addresses'
    if (addresses.length === 0) {
      throw invalid({ [path]: { required: { message: 'Field is required but missing', value: path } } })
    }
    throw invalid({
      [path]: { maxItems: { message: 'Too many people for a preview', target: maxPreviewers } },
    })
  }

  return {
    subject: subjectOf,

    all: (level: Level) => Promise.all(notices.ids.map((id) => subjectOf(level, id))),

    /** What a schema cannot say of settings. */
    async judge(level: Level, id: string, data: Notification): Promise<Problems> {
      return notices.isId(id) ? settingsProblems(level, notices.of(id), data) : {}
    },

    /** A version of the level's own, which it must not have yet. */
    async create(author: Author, level: Level, id: string, data: Notification) {
      const subject = await subjectOf(level, id)
      if (subject.record) throw failure(datastoreConflict, {})
      return write(author, subject, ownSettings(data, await templates.above(level, subject.notice.id)), {})
    },

    /** Replaces the settings; the bodies stay. */
    async replace(author: Author, subject: NoticeSubject, data: Notification) {
      const { level, notice, record } = subject
      const above = await templates.above(level, notice.id)
      return write(author, subject, ownSettings(data, above), record?.hidden ?? {})
    },

    async putBody(author: Author, subject: NoticeSubject, type: BodyType, { bytes, charset }: SentBody) {
      if (bytes.length > maxTemplateBytes) throw failure(tooLarge, { limit: maxTemplateBytes })
      assertUtf8Charset(charset)
      const body = utf8Text(bytes, 'body')
      const problems = bodyProblems('template', body, subject.notice.macros)
      if (hasProblems(problems)) throw invalid(problems)
      const { doc = {}, hidden = {} } = subject.record ?? {}
      const part = type === 'text/html' ? { html: body } : { text: body }
      return write(author, subject, doc, { ...hidden, ...part })
    },

    /** The notice is again as it is above. */
    async remove(author: Author, { record, notice }: NoticeSubject) {
      if (!record) throw failure(badIdentifier, { cause: notice.id })
      const set = new ChangeSet(author)
      templates.remove(set, record)
      await store.commit(set)
    },

    /** Removes every version of the level's own, and names them. */
    async removeAll(author: Author, level: Level): Promise<string[]> {
      const found = await Promise.all(notices.ids.map((id) => templates.at(placeOf(level), id)))
      const records = found.filter((record) => record !== undefined)
      if (records.length === 0) return []
      const set = new ChangeSet(author)
      for (const record of records) templates.remove(set, record)
      await store.commit(set)
      return records.map(({ id }) => id)
    },

    /** Sends a draft to a few people. `account` is whose letter it is; `caller` gets it unless somebody is named. */
    async preview(
      subject: NoticeSubject,
      account: AccountRecord,
      data: Preview,
      caller: string | undefined,
    ): Promise<Sample> {
      const { level, notice } = subject
      const { to: _those, ...draft } = data
      const problems = joinProblems(await settingsProblems(level, notice, draft), draftProblems(notice, data))
      if (hasProblems(problems)) throw invalid(problems)
      const to = previewersOf(data, caller)
      const values = { ...examplesOf(notice), ...commonValues(account), ...valuesIn(data.macros) }
      const content = render(drafted(subject, data), values)
      await mail.sendSample(account, notice.id, to, content)
      const { subject: line, text, html } = content
      return {
        to,
        subject: line,
        ...(text === undefined ? {} : { plain: text }),
        ...(html === undefined ? {} : { html }),
      }
    },

    attempts: attempts.page,

    async attempt(accountId: string, id: string) {
      const found = isId(id) ? await attempts.find(accountId, id) : undefined
      if (!found) throw failure(badIdentifier, { cause: id.slice(0, 200) })
      return found
    },
  }
}
