import { type AccountRecord, adminsAmongUsers, type UserRecord, userKind } from '../auth/identity.ts'
import type { Keyring } from '../auth/keyring.ts'
import { dayMs } from '../lib/gregorian.ts'
import { newId } from '../lib/ids.ts'
import { present } from '../lib/json.ts'
import { renderHtml, renderSubject, renderText, type Values } from '../lib/template.ts'
import type { ChangeSet } from '../storage/change-set.ts'
import { type JobDraft, jobStatement, workKey } from '../storage/job-draft.ts'
import type { Store } from '../storage/store.ts'
import { isEmailAddress } from './email-address.ts'
import { type Language, type Localized, languageOf, valuesIn } from './languages.ts'
import { type Attachment, type Content, mailKind, type QueuedMail, sealContent } from './message.ts'
import { carriesSecret, type Declared, type Macros, type Notices } from './notices.ts'
import { createTemplates, type Template, type TemplateTexts } from './templates.ts'

export interface Recipient {
  address: string
  language: Language
}

/** A notice to send. */
export interface MailOrder<M extends Macros = Macros> {
  notice: Declared<M>
  /** Its templates and sender address apply. */
  account: AccountRecord
  /** Empty: the admins of the account, unless the notice carries a secret. */
  to: readonly Recipient[]
  /** The account of the recipients in `to`, if another one: the mail is in its log. */
  accountOfThose?: string
  senderName?: string
  /** Values of the notice's own macros. */
  values: Record<keyof M & string, Localized>
  /** Afterwards the mail is not sent, such as one with an expired code. */
  goodForSeconds?: number
  attachments?: readonly Attachment[]
}

export type Mail = ReturnType<typeof createMail>

interface Deps {
  store: Store
  notices: Notices
  keyring: Keyring
}

interface QueuedOrder extends Pick<MailOrder, 'account' | 'goodForSeconds'> {
  /** Its id. */
  notice: string
  content: Content
  loggedBy?: string | undefined
}

// Admins of an account that a notice goes to.
const maxRecipients = 20

// Undelivered mails are given up after this.
const maxLifeMs = 3 * dayMs

const realmForm = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250}[A-Za-z0-9])?$/

/** Values of the macros that every notice has. */
export const commonValues = ({ id, doc: { name, realm } }: AccountRecord): Values => ({
  'account.id': id,
  'account.name': name,
  'account.realm': realm,
})

export const render = (
  { replyTo, from }: Pick<Template, 'replyTo' | 'from'>,
  { subject, bodies }: TemplateTexts,
  values: Values,
): Content => ({
  subject: renderSubject(subject, values),
  ...(bodies.text === undefined ? {} : { text: renderText(bodies.text, values) }),
  ...(bodies.html === undefined ? {} : { html: renderHtml(bodies.html, values) }),
  ...present({ replyTo, from }),
})

/** Where a user's mail goes; undefined when there is no address. */
export const addressOf = ({ email, username }: UserRecord['doc']) =>
  email ?? (username && isEmailAddress(username) ? username : undefined)

/** `user`: the user with the address, if there is one. */
export const recipient = (address: string, account: AccountRecord, user?: UserRecord): Recipient => ({
  address,
  language: languageOf(user?.doc.language ?? account.doc.language),
})

const distinct = (recipients: readonly Recipient[]) => [
  ...new Map(recipients.map((one) => [one.address.toLowerCase(), one])).values(),
]

export const createMail = ({ store, notices, keyring }: Deps) => {
  const templates = createTemplates(store, notices)
  const { clock, records } = store

  const adminsOf = async (account: AccountRecord) => {
    const owner = { accountId: account.id, kind: userKind, ownerId: adminsAmongUsers }
    const admins = await records.page({ ...owner, limit: maxRecipients, descending: false })
    return admins.flatMap((user) => {
      const address = addressOf(user.doc)
      const isMailed = user.doc.priv_level === 'admin' && user.doc.enabled !== false
      return address && isMailed ? [recipient(address, account, user)] : []
    })
  }

  const recipientsOf = async (order: Pick<MailOrder, 'notice' | 'to' | 'account'>, { to }: Template) => {
    if (carriesSecret(notices.of(order.notice.id))) return order.to
    if (to.type === 'specified')
      return (to.email_addresses ?? []).map((address) => recipient(address, order.account))
    if (to.type === 'original' && order.to.length > 0) return order.to
    return adminsOf(order.account)
  }

  const mailTo = (
    address: string,
    { account, notice, content, goodForSeconds, loggedBy = account.id }: QueuedOrder,
  ): JobDraft<QueuedMail> => {
    const now = clock.now()
    const id = newId(now)
    // The same for all attempts: mail programs recognize a mail that a crash has sent twice.
    const messageId = `${id}@${realmForm.test(account.doc.realm) ? account.doc.realm : 'localhost'}`
    const life = Math.min((goodForSeconds ?? maxLifeMs) * 1000, maxLifeMs)
    const sealed = sealContent(keyring, id, content)
    const payload = {
      notice,
      recipient: address,
      loggedBy,
      messageId,
      sealed,
      created: now,
      goodUntil: now + life,
    }
    return { kind: mailKind, id, accountId: account.id, payload }
  }

  return {
    notices,
    templates,

    /** Adds the mails of a notice to a change set; after the commit the queue sends them. None if the account disabled it. */
    async notify<M extends Macros>(set: ChangeSet, order: MailOrder<M>) {
      const template = await templates.of(order.account, order.notice.id)
      if (!template.isEnabled) return
      const { attachments, senderName } = order
      const contentIn = (language: Language) => ({
        ...render(template, template.texts[language], {
          ...commonValues(order.account),
          ...valuesIn(order.values, language),
        }),
        ...present({ attachments, senderName: senderName || undefined }),
      })
      const recipients = await recipientsOf(order, template)
      const loggedBy = recipients === order.to ? order.accountOfThose : undefined
      const queued = { ...order, notice: order.notice.id, loggedBy }
      for (const { address, language } of distinct(recipients))
        set.job(mailTo(address, { ...queued, content: contentIn(language) }))
    },

    /** Sends a rendered notice for a preview. */
    async sendSample(account: AccountRecord, notice: string, to: readonly string[], content: Content) {
      const recipients = distinct(to.map((address) => recipient(address, account)))
      const mails = recipients.map(({ address }) => mailTo(address, { account, notice, content }))
      const statements = mails.map((mail) => jobStatement(mail, clock.now()))
      await store.writeUnrecorded(statements, [workKey(mailKind)])
    },
  }
}
