import type { AccountRecord } from '../auth/identity.ts'
import { fingerprint } from '../lib/secrets.ts'
import { type ChangeSet, systemScope } from '../storage/change-set.ts'
import { createCollection, putDocument } from '../storage/collection.ts'
import type { StoredRecord } from '../storage/records.ts'
import type { Store } from '../storage/store.ts'
import type { Notice, Notices } from './notices.ts'

interface RecipientRule {
  /** `original`: whom it is about. `admins`: the admins of the account. `specified`: `email_addresses`. */
  type: 'original' | 'admins' | 'specified'
  email_addresses?: readonly string[]
}

/** What an account, or the system, says about a notice. What is absent is said by the next one above. */
export interface TemplateDoc {
  enabled?: boolean
  subject?: string
  to?: RecipientRule
  from?: string
  reply_to?: string
}

/** The bodies. An account that has one of them speaks for itself: the other is not taken from above. */
export interface TemplateBodies {
  text?: string
  html?: string
}

export type TemplateRecord = StoredRecord<TemplateDoc, TemplateBodies>

/** A notice as it holds for an account. */
export interface Template {
  isEnabled: boolean
  subject: string
  to: RecipientRule
  bodies: TemplateBodies
  replyTo: string | undefined
  /** The address, and the account whose template asks for it. */
  from: { address: string; accountId: string } | undefined
}

const templateKind = 'notification'

export type Templates = ReturnType<typeof createTemplates>

/** The nearest record first, then those above it, the system's last. */
const combined = (notice: Notice, layers: readonly TemplateRecord[]): Template => {
  const first = <T>(pick: (record: TemplateRecord) => T | undefined): T | undefined => {
    for (const record of layers) {
      const value = pick(record)
      if (value !== undefined) return value
    }
    return undefined
  }
  const { to, subject, text, html } = notice
  return {
    isEnabled: first(({ doc }) => doc.enabled) ?? true,
    subject: first(({ doc }) => doc.subject) ?? subject,
    to: first(({ doc }) => doc.to) ?? { type: to },
    bodies: first(({ hidden }) => ((hidden.text ?? hidden.html) !== undefined ? hidden : undefined)) ?? {
      text,
      html,
    },
    replyTo: first(({ doc }) => doc.reply_to),
    from: first(({ accountId, doc }) =>
      doc.from === undefined ? undefined : { address: doc.from, accountId },
    ),
  }
}

/** What accounts and the system have written in the place of the built-in texts. */
export const createTemplates = (store: Store, notices: Notices) => {
  const collection = createCollection<TemplateDoc, TemplateBodies>(store, {
    kind: templateKind,
    sortKey: (_doc, id) => id,
    row: () => ({}),
    audited: ({ text, html }) => ({
      ...(text === undefined ? {} : { text_fingerprint: fingerprint(text) }),
      ...(html === undefined ? {} : { html_fingerprint: fingerprint(html) }),
    }),
  })

  /** Undefined: the system's own level. */
  const placesOf = (account: AccountRecord | undefined) =>
    account ? [account.id, ...account.hidden.tree.toReversed(), systemScope] : [systemScope]

  const layersAt = async (places: readonly string[], id: string) => {
    const found = await Promise.all(places.map((place) => collection.find(place, id)))
    return found.filter((record) => record !== undefined)
  }

  return {
    /** What is written at one place: an account, or the system. */
    at: (place: string, id: string) => collection.find(place, id),

    put(
      set: ChangeSet,
      place: string,
      id: string,
      before: TemplateRecord | undefined,
      content: { doc: TemplateDoc; hidden: TemplateBodies },
    ) {
      putDocument(set, collection, { accountId: place, id }, { before, ...content })
    },

    remove: collection.remove,

    /** What is written as it arrives from another system. */
    arrivals: collection,

    /** As it holds for an account, or for the system. */
    async of(account: AccountRecord | undefined, id: string): Promise<Template> {
      return combined(notices.of(id), await layersAt(placesOf(account), id))
    },

    /** As it would hold if the account, or the system, said nothing. */
    async above(account: AccountRecord | undefined, id: string): Promise<Template> {
      return combined(notices.of(id), await layersAt(placesOf(account).slice(1), id))
    },
  }
}
