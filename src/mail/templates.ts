import type { AccountRecord } from '../auth/identity.ts'
import { present } from '../lib/json.ts'
import { fingerprint } from '../lib/secrets.ts'
import { systemScope } from '../storage/change-set.ts'
import { createCollection } from '../storage/collection.ts'
import type { StoredRecord } from '../storage/records.ts'
import type { Store } from '../storage/store.ts'
import { byLanguage, type Language } from './languages.ts'
import type { Notice, Notices } from './notices.ts'

interface RecipientRule {
  /** `original`: the users it is about. `admins`: the admins of the account. `specified`: `email_addresses`. */
  type: 'original' | 'admins' | 'specified'
  email_addresses?: readonly string[]
}

/** What an account, or the system, sets for a notice. Absent values come from the parent account. */
export interface TemplateDoc {
  enabled?: boolean
  subject?: string
  to?: RecipientRule
  from?: string
  reply_to?: string
}

/** An account with one of them does not inherit the other. */
export interface TemplateBodies {
  text?: string
  html?: string
}

export type TemplateRecord = StoredRecord<TemplateDoc, TemplateBodies>

/** The effective texts in a language. Those that an account or the system sets are the same in all languages. */
export interface TemplateTexts {
  subject: string
  bodies: TemplateBodies
}

/** The effective values for an account. */
export interface Template {
  isEnabled: boolean
  to: RecipientRule
  texts: Readonly<Record<Language, TemplateTexts>>
  replyTo: string | undefined
  /** `accountId`: the account of the template. */
  from: { address: string; accountId: string } | undefined
}

/** `layers`: the account's record first, the system's last. */
const combined = (notice: Notice, layers: readonly TemplateRecord[]): Template => {
  const first = <T>(pick: (record: TemplateRecord) => T | undefined): T | undefined =>
    layers.map(pick).find((value) => value !== undefined)
  const subject = first(({ doc }) => doc.subject)
  const bodies = first(({ hidden }) => ((hidden.text ?? hidden.html) !== undefined ? hidden : undefined))
  return {
    isEnabled: first(({ doc }) => doc.enabled) ?? true,
    to: first(({ doc }) => doc.to) ?? { type: notice.to },
    texts: byLanguage((language) => {
      const { subject: builtIn, text, html } = notice.wordings[language]
      return { subject: subject ?? builtIn, bodies: bodies ?? { text, html } }
    }),
    replyTo: first(({ doc }) => doc.reply_to),
    from: first(({ accountId, doc }) =>
      doc.from === undefined ? undefined : { address: doc.from, accountId },
    ),
  }
}

const fingerprintOf = (body: string | undefined) => (body === undefined ? undefined : fingerprint(body))

/** Templates that accounts and the system have instead of the built-in ones. */
export const createTemplates = (store: Store, notices: Notices) => {
  const collection = createCollection<TemplateDoc, TemplateBodies>(store, {
    kind: 'notification',
    sortKey: (_doc, id) => id,
    row: () => ({}),
    audited: ({ text, html }) =>
      present({ text_fingerprint: fingerprintOf(text), html_fingerprint: fingerprintOf(html) }),
  })

  /** The effective template. `account`: undefined for the system. `skipped`: how many of the nearest layers are ignored. */
  const effective = async (account: AccountRecord | undefined, id: string, skipped: number) => {
    const places = account ? [account.id, ...account.hidden.tree.toReversed(), systemScope] : [systemScope]
    const found = await Promise.all(places.slice(skipped).map((place) => collection.find(place, id)))
    const layers = found.filter((record) => record !== undefined)
    return combined(notices.of(id), layers)
  }

  return {
    collection,

    /** The effective template of an account, or of the system. */
    of: (account: AccountRecord | undefined, id: string) => effective(account, id, 0),

    /** The effective template without the account's own. */
    above: (account: AccountRecord | undefined, id: string) => effective(account, id, 1),
  }
}
