import { accountReadOnly } from '../../src/areas/accounts/accounts/schema.ts'
import { isObject, isTrue, type Json, present } from '../../src/lib/json.ts'
import { accountDatabase } from '../documents/database-names.ts'
import type { Converted, Finding, KazooDocument } from '../documents/document.ts'
import { integerIn, publicPart, textIn } from '../documents/fields.ts'
import { type ExportedDocument, exported, type OwnRecord } from '../export/document.ts'
import {
  type AccountNames,
  copiesDatabase,
  isEnabledIn,
  namesOf,
  oldestOf,
  parentsOf,
  type SeenAccount,
  topDown,
  withAncestors,
  withoutBarren,
} from './account-tree.rules.ts'
import { converted, finding, maxNameLength, type Notes, nameFrom, notesOf } from './findings.ts'
import { exportWithLimits, withAccessLists } from './packet-limits.rules.ts'
import { fieldOf, integer, readFields, text, writeFields } from './tables.ts'

export interface AccountsSeen {
  own: Iterable<SeenAccount>
  copies: Iterable<SeenAccount>
  withDatabase: ReadonlySet<string>
  masterSetting: Json | undefined
  /** End of generated realms; undefined: the master account's realm. */
  realmSuffix: string | undefined
}

export interface PlannedAccount extends AccountNames {
  id: string
  /** Undefined for the master account. */
  parent: string | undefined
  /** The database with its document. */
  source: string
  /** Only a copy is left, and the account has descendants: it is imported disabled. */
  isShell: boolean
  isReseller: boolean
  /** Gregorian seconds. */
  created: number
}

export interface AccountsPlan {
  masterId: string | undefined
  /** Ancestors first. */
  accounts: ReadonlyMap<string, PlannedAccount>
  /** Deleted accounts, whose months are deleted, too. */
  gone: ReadonlySet<string>
  findings: readonly Finding[]
}

const placeOf = (id: string) => ({ database: accountDatabase(id), id })

/** A node's section precedes a zone's; `default` is last. */
const namedMasters = (setting: Json | undefined): string[] => {
  const rank = (section: string) => (section.includes('@') ? 0 : section === 'default' ? 2 : 1)
  return Object.entries(setting ?? {})
    .filter(([, values]) => isObject(values))
    .sort(([one], [other]) => rank(one) - rank(other) || (one < other ? -1 : 1))
    .flatMap(([, values]) => textIn(values, 'master_account_id') ?? [])
}

const chooseMaster = (there: ReadonlyMap<string, SeenAccount>, setting: Json | undefined) => {
  const named = namedMasters(setting)
  const chosen = named.find((id) => there.has(id))
  if (chosen !== undefined) return { masterId: chosen, findings: [] }
  const roots = [...there.values()].filter(({ hasTree, tree }) => hasTree && tree.length === 0)
  const masterId = (oldestOf(roots) ?? oldestOf(there.values()))?.id
  const place = { database: 'system_config', id: 'accounts' }
  const details = { field: 'master_account_id', old: named.join(), new: masterId }
  const found = masterId
    ? finding(place, 'repaired', 'master_guessed', details)
    : finding(place, 'stop', 'no_master')
  return { masterId, findings: [found] }
}

const compared = ['name', 'realm', 'isReseller', 'isEnabled'] as const

const differencesOf = (own: SeenAccount, copy: SeenAccount | undefined): Finding[] => {
  if (!copy || copy.isGone) return [finding(own, 'repaired', 'account_copy_missing')]
  const fields = [
    ...compared.filter((field) => own[field] !== copy[field]),
    ...(own.tree.join() === copy.tree.join() ? [] : ['tree']),
  ]
  return fields.length === 0
    ? []
    : [finding(own, 'repaired', 'account_copy_differs', { field: fields.join() })]
}

/** The copy of an account counts only where the account has a database without its document. */
const choosePresent = ({ own, copies, withDatabase }: AccountsSeen) => {
  const copyOf = new Map(Array.from(copies, (copy) => [copy.id, copy]))
  const owned = new Map(Array.from(own, (account) => [account.id, account]))
  const all = [...owned.values(), ...copyOf.values().filter(({ id }) => !owned.has(id))]
  const {
    own: living = [],
    gone = [],
    copied = [],
    left = [],
  } = Object.groupBy(all, ({ id, isGone }) => {
    if (isGone) return 'gone'
    if (owned.has(id)) return 'own'
    return withDatabase.has(id) ? 'copied' : 'left'
  })
  const byId = (accounts: readonly SeenAccount[]) => new Map(accounts.map((account) => [account.id, account]))
  const missing = [...withDatabase].filter((id) => !owned.has(id) && !copyOf.has(id))
  return {
    there: byId([...living, ...copied]),
    gone: new Set(gone.map(({ id }) => id)),
    leftCopies: byId(left),
    findings: [
      ...living.flatMap((account) => differencesOf(account, copyOf.get(account.id))),
      ...copied.map(({ id }) => finding(placeOf(id), 'repaired', 'account_from_copy')),
      ...missing.map((id) => finding(placeOf(id), 'needs_hand', 'account_without_document')),
    ],
  }
}

/** The ancestors, the master account first. */
export const treeOf = ({ accounts }: Pick<AccountsPlan, 'accounts'>, id: string): string[] => {
  const tree: string[] = []
  for (let above = accounts.get(id)?.parent; above !== undefined; above = accounts.get(above)?.parent)
    tree.push(above)
  return tree.reverse()
}

/** Repairs of the tree that an account's document states. */
const repairsOf = (
  account: SeenAccount,
  accounts: ReadonlyMap<string, PlannedAccount>,
  resellerId: string | undefined,
): Finding[] => {
  const repaired = (code: string, field: string, old = '', changed = old) =>
    old === changed ? [] : [finding(account, 'repaired', code, { field, old, new: changed })]
  const { id, tree, resellerId: stated } = account
  return [
    ...repaired('tree_repaired', 'pvt_tree', tree.join(), treeOf({ accounts }, id).join()),
    ...repaired('reseller_repaired', 'pvt_reseller_id', stated, stated && resellerId),
  ]
}

/** Builds one tree of all accounts, whatever their documents contain. */
export const planAccounts = (seen: AccountsSeen): AccountsPlan => {
  const { there, gone, leftCopies, findings } = choosePresent(seen)
  const { masterId, findings: ofMaster } = chooseMaster(there, seen.masterSetting)
  findings.push(...ofMaster)
  if (masterId === undefined) return { masterId, accounts: new Map(), gone, findings }
  const all = withAncestors(there, leftCopies)
  const parents = withoutBarren(parentsOf(all, masterId), (id) => there.has(id))
  for (const copy of leftCopies.values()) {
    const code = parents.has(copy.id) ? 'account_shell' : 'account_without_database'
    findings.push(finding(copy, 'needs_hand', code))
  }
  const suffix = seen.realmSuffix ?? all.get(masterId)?.realm ?? 'localhost'
  const placed = [...all.values()].filter(({ id }) => parents.has(id))
  const { names, findings: ofNames } = namesOf(placed, suffix)
  findings.push(...ofNames)

  const accounts = new Map<string, PlannedAccount>()
  const resellers = new Map<string, string>()
  for (const id of topDown(parents, masterId)) {
    const [account, called] = [all.get(id), names.get(id)]
    if (!account || !called) continue
    const parent = parents.get(id)
    const above = parent === undefined ? undefined : accounts.get(parent)
    const reseller = above?.isReseller ? above.id : above && (resellers.get(above.id) ?? masterId)
    if (reseller !== undefined) resellers.set(id, reseller)
    const { created, database: source } = account
    const isReseller = id === masterId || account.isReseller
    accounts.set(id, { ...called, id, parent, source, isShell: !there.has(id), isReseller, created })
    findings.push(...repairsOf(account, accounts, reseller))
  }
  return { masterId, accounts, gone, findings }
}

// Copies of private fields, and fields that are set separately.
const notTaken = [...accountReadOnly, 'enabled', 'name', 'realm', 'trial_expires']

const withoutCounterpart = ['pvt_parent_id', 'pvt_notification_preference', 'pvt_cpaas_token']

const alwaysFlag = fieldOf((fields, key) => isTrue(fields[key]))

const accountFields = [
  fieldOf(isEnabledIn)('enabled', 'pvt_enabled'),
  alwaysFlag('isSuperduper', 'pvt_superduper_admin'),
  alwaysFlag('allowsNumberAdditions', 'pvt_wnm_allow_additions'),
  integer('trialExpires', 'pvt_trial_expires'),
  text('apiKey', 'pvt_api_key'),
]

const factsOf = (fields: Json, planned: PlannedAccount, plan: AccountsPlan, notes: Notes): Json => {
  const { trialExpires, apiKey, ...flags } = readFields(accountFields, fields, notes)
  return {
    ...flags,
    // No account above the master account could end its trial.
    ...(planned.id === plan.masterId
      ? { isSuperduper: true, allowsNumberAdditions: true }
      : present({ trialExpires })),
    ...(planned.isShell ? { enabled: false } : {}),
    ...(planned.isKeyTaken ? {} : present({ apiKey })),
    tree: treeOf(plan, planned.id),
    isReseller: planned.isReseller,
    nameClaim: planned.nameClaim,
  }
}

/** Fields without a counterpart; of trials: there is no end, or it is the master account. */
const fieldsLeft = (fields: Json, isMaster: boolean) => {
  const hasTrial = !isMaster && integerIn(fields, 'pvt_trial_expires') !== undefined
  const trials = hasTrial ? [] : ['pvt_trial_expires', 'is_trial_account']
  return [
    ...withoutCounterpart.filter((field) => fields[field] !== undefined),
    ...trials.filter((field) => fields[field] !== undefined && fields[field] !== false),
  ]
}

export const convertAccount = (document: KazooDocument, plan: AccountsPlan): Converted => {
  const { id, database, fields } = document
  const planned = plan.accounts.get(id)
  // A copy next to the account's own document only matters where it differs, which the plan reports.
  if (!planned || planned.source !== database) return converted(document, 'skipped')
  const notes = notesOf(document)
  const stored = textIn(fields, 'name')
  const old = stored?.slice(0, 2 * maxNameLength)
  const detailsOf = (name: string) => ({ field: 'name', old, new: name })
  const name = nameFrom(stored, textIn(fields, 'realm') ?? id, notes, detailsOf)
  const doc = withAccessLists(publicPart(fields, notTaken), notes)
  for (const field of fieldsLeft(fields, id === plan.masterId)) notes.leftOut('no_counterpart', { field })
  return notes.imported('account', id, {
    doc: { ...doc, name, realm: planned.realm },
    facts: factsOf(fields, planned, plan, notes),
  })
}

export const exportAccount = (
  record: OwnRecord,
  { resellerId, apiKey }: { resellerId: string; apiKey: string },
): ExportedDocument[] => {
  const { tree, isReseller } = record.hidden
  const [own, ...limits] = exportWithLimits('account', record, {
    pvt_tree: tree,
    pvt_reseller: isReseller,
    pvt_reseller_id: resellerId,
    ...writeFields(accountFields, { ...record.hidden, apiKey }),
  })
  return own ? [own, { ...own, database: copiesDatabase, type: 'account (copy)' }, ...limits] : []
}

export const exportMaster = (master: OwnRecord, setting: Json = {}): ExportedDocument => {
  const section = isObject(setting.default) ? setting.default : {}
  return exported('config', master, {
    database: 'system_config',
    id: 'accounts',
    fields: { ...setting, default: { ...section, master_account_id: master.accountId } },
  })
}

export const isAccountDocument = ({ database, id, type }: KazooDocument) =>
  type === 'account' && (database === copiesDatabase || database === accountDatabase(id))
