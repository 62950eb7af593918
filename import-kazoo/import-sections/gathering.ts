import type { ImportScope } from '../../src/areas/system/imports/rules.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import { systemScope } from '../../src/storage/change-set.ts'
import { copiesDatabase, type SeenAccount, seenAccount } from '../conversions/account-tree.rules.ts'
import { type AccountsPlan, type AccountsSeen, planAccounts } from '../conversions/accounts.rules.ts'
import { finding } from '../conversions/findings.ts'
import { createUses, usesIn } from '../conversions/number-sources.rules.ts'
import { idsOf, isProvider, sharedNamesIn } from '../conversions/people.rules.ts'
import { lostNames, providerKey } from '../conversions/people-context.rules.ts'
import { accountDatabase, databaseKindsOf } from '../documents/database-names.ts'
import type { Finding, KazooDocument } from '../documents/document.ts'
import { isGone, readDocument, textIn } from '../documents/fields.ts'
import { forEach } from '../import-run/at-once.ts'
import { DatabaseVanished, type Source, SourceTrouble, unlessVanished } from '../source/source.ts'
import { type AccountFact, documentPages, type Facts } from './section.ts'

// Needed before the first account is converted: the tree, and the owners of shared names.

/** Small, because all accounts are in memory. */
const gatheredOf = (accountId: string, documents: readonly KazooDocument[], sequence: string | undefined) => {
  const own = documents.find(({ id, type }) => id === accountId && type === 'account')
  const realm = own && textIn(own.fields, 'realm')
  return {
    sequence,
    seen: own && seenAccount(own),
    dialPlan: own?.fields.dial_plan,
    shared: sharedNamesIn(documents, { accountId, realm: realm ?? '' }),
    plans: idsOf(documents, 'service_plan'),
    providers: Array.from(idsOf(documents, 'provider'), (id) => providerKey(accountId, id)),
    uses: usesIn(documents),
  }
}

/** Without one of these the others would be read wrongly. */
const goneWhileRead = (what: string) =>
  new SourceTrouble(
    `${what}, and the others cannot be converted without it: imported data stays; run the command again when the database exists`,
  )

// Other types may be large.
const gatheredTypes: ReadonlySet<string> = new Set([
  'account',
  'device',
  'provider',
  'service_plan',
  'whitelabel',
])

// Only before anything is stored; afterwards the store is queried.
const typesWithNumbers: ReadonlySet<string> = new Set(['callflow', 'sys_info'])

const settingIn = async (source: Source, id: string): Promise<Json | undefined> => {
  const found = await source.document('system_config', id)
  // Distinguishes a missing document from a missing database.
  if (!found && !(await source.database('system_config')))
    throw goneWhileRead('the database system_config no longer exists')
  return found && readDocument('system_config', found).fields
}

/** The documents of a system database, if there is one. */
export async function* systemDocuments({ source, kinds }: Pick<Facts, 'source' | 'kinds'>, database: string) {
  if (!kinds.has(database)) return
  try {
    for await (const { documents } of documentPages(source, database)) yield* documents
  } catch (error) {
    throw error instanceof DatabaseVanished ? goneWhileRead(error.message) : error
  }
}

const foreignStorageIn = (document: KazooDocument): Finding[] => {
  const isPlan = document.type === 'storage' || document.id === 'system'
  const { connections } = document.fields
  if (!isPlan || isGone(document.fields) || !isObject(connections)) return []
  const names = Object.keys(connections).filter((name) => name !== 'local')
  const details = { field: 'connections', old: names.join(', ') }
  return names.length > 0 ? [finding(document, 'stop', 'foreign_storage', details)] : []
}

/** Named accounts with all their ancestors and descendants. */
const around = ({ accounts }: AccountsPlan, only: readonly string[]) => {
  const missing = only.find((id) => !accounts.has(id))
  if (missing !== undefined) throw new SourceTrouble(`the source has no account ${missing}`)
  const named = new Set(only)
  const kept = new Set<string>()
  // Ancestors come first.
  for (const { id, parent } of accounts.values())
    if (named.has(id) || (parent !== undefined && named.has(parent))) named.add(id)
  for (const id of named)
    for (let above: string | undefined = id; above !== undefined; above = accounts.get(above)?.parent)
      kept.add(above)
  return kept
}

/** Accounts outside the scope keep no names. */
const planOf = (seen: AccountsSeen, { only }: ImportScope): AccountsPlan => {
  const plan = planAccounts(seen)
  if (only.length === 0 || plan.masterId === undefined) return plan
  const kept = around(plan, only)
  const ofKept = (accounts: Iterable<SeenAccount>) => [...accounts].filter(({ id }) => kept.has(id))
  return planAccounts({
    ...seen,
    own: ofKept(seen.own),
    copies: ofKept(seen.copies),
    withDatabase: new Set([...seen.withDatabase].filter((id) => kept.has(id))),
    masterSetting: { default: { master_account_id: plan.masterId } },
  })
}

/** Reads again only databases that changed. `withUses`: also what numbers lead to, for a survey. */
export const createGathering = (source: Source, { withUses = false } = {}) => {
  const known = new Map<string, ReturnType<typeof gatheredOf>>()
  const isGathered = ({ type }: KazooDocument) =>
    gatheredTypes.has(type) || (withUses && typesWithNumbers.has(type))

  const gather = async (accountId: string, database: string) => {
    const facts = await source.database(database)
    if (!facts) return void known.delete(accountId)
    const before = known.get(accountId)
    if (before && (facts.sequence === undefined || before.sequence === facts.sequence)) return
    const gathered: KazooDocument[] = []
    for await (const { documents } of documentPages(source, database))
      gathered.push(...documents.filter(isGathered))
    known.set(accountId, gatheredOf(accountId, gathered, facts.sequence))
  }

  const gatherThere = async (accountId: string) => {
    if (!(await unlessVanished(() => gather(accountId, accountDatabase(accountId))))) known.delete(accountId)
  }

  const usesOf = () => {
    const uses = createUses()
    for (const [accountId, gathered] of known) uses.add(accountId, gathered.uses)
    return uses
  }

  const factsOf = (plan: AccountsPlan, copies: readonly SeenAccount[]) => {
    const named = new Map(copies.map((copy) => [copy.id, copy.name]))
    return new Map(
      Array.from(plan.accounts.values(), ({ id, parent, realm }): [string, AccountFact] => {
        const gathered = known.get(id)
        const name = gathered?.seen?.name ?? named.get(id) ?? realm
        return [id, { name, realm, parent, dialPlan: gathered?.dialPlan }]
      }),
    )
  }

  return async (now: number, narrowing: ImportScope): Promise<Facts> => {
    const names = await source.databases()
    const kinds = databaseKindsOf(names)
    const accountIds = [...kinds.values()].flatMap((kind) =>
      kind.kind === 'account' ? [kind.accountId] : [],
    )
    const withDatabase = new Set(accountIds)
    for (const id of known.keys()) if (!withDatabase.has(id)) known.delete(id)
    await forEach(undefined, accountIds, gatherThere)
    const all = [...known.values()]
    const seenThere = await Array.fromAsync(systemDocuments({ source, kinds }, copiesDatabase), seenAccount)
    const copies = seenThere.filter((copy) => copy !== undefined)
    const setting = async (id: string) => (kinds.has('system_config') ? settingIn(source, id) : undefined)
    const ledgers = await setting('ledgers')
    const plan = planOf(
      {
        own: all.flatMap(({ seen }) => seen ?? []),
        copies,
        withDatabase,
        masterSetting: await setting('accounts'),
        realmSuffix: textIn(await setting('crossbar.accounts'), 'default', 'account_realm_suffix'),
      },
      narrowing,
    )
    const masterId = plan.masterId ?? ''
    const providers = new Set(all.flatMap((one) => one.providers))
    // Providers of the system belong to the master account.
    for await (const document of systemDocuments({ source, kinds }, 'system_auth'))
      if (isProvider(document) && !isGone(document.fields)) providers.add(providerKey(masterId, document.id))
    const plansThere = systemDocuments({ source, kinds }, 'system_data')
    const elsewhere = (await Array.fromAsync(plansThere, foreignStorageIn)).flat()
    return {
      ...narrowing,
      ...{ source, kinds, now, plan, masterId, systemId: systemScope, elsewhere, providers },
      carriesOver: memberOf(ledgers, 'default', 'rollover_monthly_balance') !== false,
      accounts: factsOf(plan, copies),
      lost: lostNames(
        all.flatMap((one) => one.shared.filter(({ accountId }) => plan.accounts.has(accountId))),
      ),
      plans: new Map(Array.from(known, ([id, { plans }]) => [id, plans])),
      uses: withUses ? usesOf() : undefined,
    }
  }
}
