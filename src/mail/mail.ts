import { type AccountRecord, adminsAmongUsers, type UserRecord, userKind } from '../auth/identity.ts'
import type { Keyring } from '../auth/keyring.ts'
import { newId } from '../lib/ids.ts'
import { renderHtml, renderSubject, renderText, type Values } from '../lib/template.ts'
import type { ChangeSet } from '../storage/change-set.ts'
import { errandStatement, type JobDraft, workKey } from '../storage/errand.ts'
import type { Store } from '../storage/store.ts'
import { isEmailAddress } from './email-address.ts'
import { type Attachment, type Content, mailKind, type QueuedMail, sealContent } from './letter.ts'
import { carriesSecret, type Declared, type Macros, type Notices } from './notices.ts'
import { createTemplates, type Template, type Templates } from './templates.ts'

/** A notice that somebody has to be sent. */
export interface Order<M extends Macros = Macros> {
  notice: Declared<M>
  /** Whose templates and sender address hold. */
  account: AccountRecord
  /** Whom it is about. When nobody is named, the admins of the account are told, unless it carries a secret. */
  to: readonly string[]
  /** The account of those who are named, where it is another one: its log has the mail, for their addresses are its own. */
  accountOfThose?: string
  /** Shown next to the sender's address; without it the name that belongs to the address. */
  senderName?: string
  /** Values of the notice's own names; the common ones follow from the account. */
  values: Record<keyof M & string, string>
  /** How long anybody has a use for it: a letter with an expired code is not sent. */
  goodForSeconds?: number
  attachments?: readonly Attachment[]
}

export interface Mail {
  /**
   * Adds the letters of a notice to the change set of what it tells about: they are sent if, and only if, that is
   * committed, and nobody waits for it. Nothing is added where the account has switched the notice off.
   */
  notify<M extends Macros>(set: ChangeSet, order: Order<M>): Promise<void>
  /** Sends one rendered notice to these addresses, to show how it looks. */
  sendSample(account: AccountRecord, notice: string, to: readonly string[], content: Content): Promise<void>
  notices: Notices
  templates: Templates
}

interface Deps {
  store: Store
  notices: Notices
  keyring: Keyring
}

// Admins of an account that a notice goes to.
const maxRecipients = 20

/** A letter that could not be delivered for this long never will be. */
const longestLifeMs = 3 * 24 * 3600 * 1000

const realmForm = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250}[A-Za-z0-9])?$/

/** What is written in the place of the names that every notice knows. */
export const commonValues = ({ id, doc: { name, realm } }: AccountRecord): Values => ({
  'account.id': id,
  'account.name': name,
  'account.realm': realm,
})

export const render = ({ subject, bodies, replyTo, from }: Template, values: Values): Content => ({
  subject: renderSubject(subject, values),
  ...(bodies.text === undefined ? {} : { text: renderText(bodies.text, values) }),
  ...(bodies.html === undefined ? {} : { html: renderHtml(bodies.html, values) }),
  ...(replyTo === undefined ? {} : { replyTo }),
  ...(from === undefined ? {} : { from }),
})

/** Where a user's mail goes; undefined when there is no address. */
export const addressOf = ({ email, username }: UserRecord['doc']) =>
  email ?? (username && isEmailAddress(username) ? username : undefined)

const distinct = (addresses: readonly string[]) => [
  ...new Map(addresses.map((address) => [address.toLowerCase(), address])).values(),
]

export const createMail = ({ store, notices, keyring }: Deps): Mail => {
  const templates = createTemplates(store, notices)
  const { clock, records } = store

  const adminsOf = async (accountId: string) => {
    const query = {
      accountId,
      kind: userKind,
      ownerId: adminsAmongUsers,
      limit: maxRecipients,
      descending: false,
    }
    const admins = await records.page(query)
    return admins.flatMap(({ doc }) =>
      doc.priv_level === 'admin' && doc.enabled !== false ? (addressOf(doc) ?? []) : [],
    )
  }

  const recipientsOf = async (order: Pick<Order, 'notice' | 'to' | 'account'>, { to }: Template) => {
    if (carriesSecret(notices.of(order.notice.id))) return order.to
    if (to.type === 'specified') return to.email_addresses ?? []
    if (to.type === 'original' && order.to.length > 0) return order.to
    return adminsOf(order.account.id)
  }

  const letterTo = (
    recipient: string,
    { account, notice, goodForSeconds }: Pick<Order, 'account' | 'goodForSeconds'> & { notice: string },
    content: Content,
    loggedBy = account.id,
  ): JobDraft<QueuedMail> => {
    const now = clock.now()
    const id = newId(now)
    // Stable over all attempts: a mail program that gets a letter twice, because the server died between its delivery
    // and the note of it, knows that it is the same.
    const messageId = `${id}@${realmForm.test(account.doc.realm) ? account.doc.realm : 'localhost'}`
    const life = Math.min((goodForSeconds ?? longestLifeMs) * 1000, longestLifeMs)
    const sealed = sealContent(keyring, id, content)
    const payload = { notice, recipient, loggedBy, messageId, sealed, created: now, goodUntil: now + life }
    return { kind: mailKind, id, accountId: account.id, payload }
  }

  return {
    notices,
    templates,

    async notify(set, order) {
      const template = await templates.of(order.account, order.notice.id)
      if (!template.isEnabled) return
      const { attachments, senderName } = order
      const content = {
        ...render(template, { ...commonValues(order.account), ...order.values }),
        ...(attachments ? { attachments } : {}),
        ...(senderName ? { senderName } : {}),
      }
      const recipients = await recipientsOf(order, template)
      const loggedBy = recipients === order.to ? order.accountOfThose : undefined
      for (const recipient of distinct(recipients))
        set.errand(letterTo(recipient, { ...order, notice: order.notice.id }, content, loggedBy))
    },

    async sendSample(account, notice, to, content) {
      await store.writeUnrecorded(
        distinct(to).map((address) =>
          errandStatement(letterTo(address, { account, notice }, content), clock.now()),
        ),
        [workKey(mailKind)],
      )
    },
  }
}
