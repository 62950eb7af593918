import type { TSchema } from 'typebox'
import { memberOf } from '../../../lib/member.ts'
import { createCollection } from '../../../storage/collection.ts'
import { type StoredRecord, sortKeyOf } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { integer, placeholders, shape, text } from '../../../storage/table.ts'
import { webhookKind } from './rules.ts'
import { Webhook } from './schema.ts'

interface WebhookHidden {
  /** The newest event when the webhook was created or enabled: it gets later ones. */
  after: number
  /** Set if the server has disabled it. */
  disableReason?: string
}

export type WebhookRecord = StoredRecord<Webhook, WebhookHidden>

export interface HookOwner {
  accountId: string
  wantsCallRecords: boolean
}

const secrets: TSchema = Webhook

const accounts = shape({ accountId: text() })
const owners = shape({ accountId: text(), callRecords: integer() })
const places = shape({ accountId: text(), id: text() })

const switchedOff = `SELECT ${places.columns} FROM records
  WHERE kind = '${webhookKind}' AND hidden LIKE '%"disableReason":%' AND account_id`

export const createWebhookStore = (store: Store) => {
  const collection = createCollection<Webhook, WebhookHidden>(store, {
    kind: webhookKind,
    sortKey: ({ name }) => sortKeyOf(name),
    row: (doc, { disableReason }) => ({
      name: doc.name,
      enabled: doc.enabled,
      hook: doc.hook,
      uri: doc.uri,
      http_verb: doc.http_verb,
      format: doc.format,
      version: doc.version,
      include_subaccounts: doc.include_subaccounts,
      group: memberOf(doc, 'group'),
      disable_reason: disableReason,
    }),
    secrets: () => secrets,
    audited: ({ disableReason }) => (disableReason === undefined ? {} : { disable_reason: disableReason }),
  })

  return {
    ...collection,

    async ofAccounts(accountIds: readonly string[]): Promise<WebhookRecord[]> {
      if (accountIds.length === 0) return []
      const found = accounts.list(
        await store.all(
          `SELECT DISTINCT ${accounts.columns} FROM records
            WHERE kind = '${webhookKind}' AND account_id IN (${placeholders(accountIds.length)})`,
          accountIds,
        ),
      )
      return (await Promise.all(found.map(collection.all))).flat()
    },

    /** `wantsCallRecords` may be true without need. */
    async owners(): Promise<HookOwner[]> {
      // Without webhooks the scan thread is not started.
      const some = await store.all(`SELECT 1 AS one FROM records WHERE kind = '${webhookKind}' LIMIT 1`)
      if (some.length === 0) return []
      const rows = await store.scan(
        `SELECT account_id AS "accountId", sum(CASE WHEN doc LIKE '%"hook":"cdr%' THEN 1 ELSE 0 END) AS "callRecords"
          FROM records WHERE kind = '${webhookKind}' GROUP BY account_id`,
        [],
      )
      return owners
        .list(rows)
        .map(({ accountId, callRecords }) => ({ accountId, wantsCallRecords: callRecords > 0 }))
    },

    switchedOff: async (accountId: string) =>
      places.list(await store.all(`${switchedOff} = $1`, [accountId])),

    /** The same for the account and its sub-accounts. */
    switchedOffBelow: async (accountId: string) =>
      places.list(
        await store.scan(
          `${switchedOff} IN (SELECT $1 UNION ALL SELECT account_id FROM account_tree WHERE ancestor_id = $1)`,
          [accountId],
        ),
      ),
  }
}

export type WebhookStore = ReturnType<typeof createWebhookStore>
