import { type AccountRecord, accountKind, userKind } from '../../../auth/identity.ts'
import { failure } from '../../../lib/failure.ts'
import { gregorianOfUnix } from '../../../lib/gregorian.ts'
import { newId, randomHex } from '../../../lib/ids.ts'
import { monthOf } from '../../../lib/time-key.ts'
import type { Settings } from '../../../settings/settings.ts'
import type { Author, ChangeSet } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import { type ComparedInvoice, isChanged } from '../pricing/invoices.ts'
import type { QuantityBook } from '../quantities/operations.ts'
import type { TellBookkeepers } from '../synchronization/operations.ts'
import { type AuditReason, auditDoc, auditSummary, daysNewestFirst, together } from './rules.ts'
import { type AuditPage, createAuditStore } from './store.ts'

const dayOfGregorian = (toUnix: number) =>
  Number(new Date(toUnix * 1000).toISOString().slice(0, 10).replaceAll('-', ''))

const auditId = /^\d{6}-[0-9a-f]+$/

/** What changed on an account's invoices because of what somebody did to it or below it. */
interface AuditedChange {
  account: AccountRecord
  compared: readonly ComparedInvoice[]
  /** The account at which the change happened. */
  changed: { id: string; name: string }
  types: readonly AuditReason[]
}

export type ServiceAudit = ReturnType<typeof createServiceAudit>

/** Why each invoice is what it is, as long as anybody wants to know. */
export const createServiceAudit = (tools: {
  store: Store
  settings: Settings
  quantities: QuantityBook
  tell: TellBookkeepers
}) => {
  const { store, settings, quantities, tell } = tools
  const { records, clock } = store
  const entries = createAuditStore(store)

  const accountName = async (id: string) => (await records.find(id, accountKind, id))?.doc.name ?? id

  const authentication = async ({ authAccountId, authMethod = '' }: Author) =>
    authAccountId === undefined
      ? undefined
      : { type: authMethod, account_id: authAccountId, account_name: await accountName(authAccountId) }

  const agent = async ({ authAccountId, authUserId }: Author) => {
    if (authAccountId === undefined || authUserId === undefined) return undefined
    const user = await records.find(authAccountId, userKind, authUserId)
    return {
      type: 'user' as const,
      type_id: authUserId,
      account_id: authAccountId,
      first_name: user?.doc.first_name ?? '',
      last_name: user?.doc.last_name ?? '',
    }
  }

  const requestOf = ({ requestId, clientAddress = '', request }: Author) =>
    request && { id: requestId, client_ip: clientAddress, ...request }

  /** Who did something, in the words of audit entries. */
  const who = async (author: Author) => ({
    authentication: await authentication(author),
    agent: await agent(author),
    request: requestOf(author),
  })

  const isKept = async ({ hidden }: AccountRecord) =>
    hidden.tree.length > 0 || (await settings.of('services')).should_save_master_audit_logs

  const entryId = () => `${monthOf(clock.now())}-${randomHex(13)}`

  return {
    who,

    /** Adds an entry for each invoice that changed to a change set, whose author is who did it. */
    async add(set: ChangeSet, { account, compared, changed, types }: AuditedChange) {
      const changes = compared.filter(isChanged)
      if (changes.length === 0) return
      const bookkeepers = changes.map(({ after }) => after.bookkeeper)
      await tell(set, account, bookkeepers)
      if (!(await isKept(account))) return
      const facts = await who(set.author)
      for (const invoice of changes) {
        const named = { id: account.id, name: account.doc.name }
        const doc = auditDoc(invoice, { account: named, changed, types, ...facts })
        const now = clock.now()
        const times = { created: gregorianOfUnix(now / 1000), madeAt: now, place: newId(now) }
        entries.add(set, account.id, { id: entryId(), ...times, doc })
      }
    },

    page: (page: AuditPage) => entries.page(page),

    async get(accountId: string, id: string) {
      const entry = auditId.test(id) ? await entries.find(accountId, id) : undefined
      if (!entry) throw failure('bad_identifier', { cause: id })
      return entry
    },

    /** What moved on the days from one time to another, in Unix seconds: category or item -> day -> entry. */
    async summary(accountId: string, fromUnix: number, toUnix: number) {
      const days = await entries.days(accountId, dayOfGregorian(fromUnix), dayOfGregorian(toUnix))
      return auditSummary(days, together(await quantities.of(accountId)))
    },

    newestFirst: daysNewestFirst,
  }
}
