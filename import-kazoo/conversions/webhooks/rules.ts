// Webhooks come switched off: else both systems would call.

import { webhookKinds } from '../../../src/areas/events/webhooks/rules.ts'
import { isTrue } from '../../../src/lib/json.ts'
import type { Converted, KazooDocument } from '../../documents/document.ts'
import { publicPart, textIn } from '../../documents/fields.ts'
import { exported, type LeavingDocument, type OwnRecord } from '../../leaving/document.ts'
import { imported, notesOf } from '../findings.ts'
import { keepDocument } from '../kept/rules.ts'
import { type OwnerContext, ofOwner } from '../owners.ts'

const kinds: ReadonlySet<string> = new Set(webhookKinds([]).map(({ id }) => id))

/** What no hook of today can be made of; undefined: one can. */
const problemOf = ({ fields }: KazooDocument, typeNames: ReadonlySet<string>): string | undefined => {
  const hook = textIn(fields, 'hook')
  if (textIn(fields, 'uri') === undefined) return 'uri'
  return hook !== undefined && (kinds.has(hook) || typeNames.has(hook)) ? undefined : 'hook'
}

// What only tells of others, or is said here by the server.
const echoes = ['id', 'disable_reason', 'enabled']

interface WebhookContext extends OwnerContext {
  /** Names of event types, which hooks may have. */
  typeNames: ReadonlySet<string>
}

export const convertWebhook = (document: KazooDocument, context: WebhookContext): Converted =>
  ofOwner(document, context, (accountId) => {
    const { fields } = document
    const { findings, needsHand } = notesOf(document)
    const problem = problemOf(document, context.typeNames)
    if (problem) {
      // An address may hold a key: it is not told.
      const old = problem === 'hook' ? (textIn(fields, 'hook') ?? '') : undefined
      needsHand('webhook_not_taken', { field: problem, old })
      return keepDocument(document, accountId, { findings })
    }
    if (fields.enabled === undefined || isTrue(fields.enabled))
      needsHand('webhook_switched_off', { field: 'enabled', old: 'true', new: 'false' })
    const name = textIn(fields, 'name') ?? document.id
    const doc = { ...publicPart(fields, echoes), name, enabled: false }
    return imported(document, 'webhook', accountId, { doc, findings })
  })

/** The document of a webhook, on or off as it is here. */
export const exportWebhook = (record: OwnRecord): LeavingDocument[] => [
  exported('webhook', record, {
    database: 'webhooks',
    more: { pvt_disabled_message: record.hidden.disableReason },
  }),
]
