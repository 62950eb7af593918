// Documents of number databases -> numbers as they stand here. A number stands in the database of its first five
// characters, which is the truth; accounts have copies.

import type { NumberState } from '../../../src/areas/phone-numbers/rules.ts'
import { isE164, normalizeNumber } from '../../../src/lib/e164.ts'
import type { Json } from '../../../src/lib/json.ts'
import { memberOf } from '../../../src/lib/member.ts'
import type { Converted, Draft, Finding, KazooDocument } from '../../documents/document.ts'
import { isGone, textIn, timesOf } from '../../documents/fields.ts'
import { converted, finding } from '../findings.ts'
import { keepDocument } from '../kept/rules.ts'
import {
  carrierOf,
  featuresOf,
  knownState,
  overridesOf,
  plainFactsOf,
  publicFieldsOf,
  statedUseOf,
  stateTextOf,
  withoutOwnersFields,
} from './older-forms.ts'
import type { PortedNumber } from './ports/rules.ts'
import type { NumberUses } from './uses/rules.ts'

/** What has to be known of the rest of a system to say what becomes of a number. */
export interface NumberContext {
  /** Those that are imported. */
  accounts: { has(accountId: string): boolean }
  /** Whose what belongs to no account is. */
  systemId: string
  /** What callflows and trunks of accounts list. */
  uses: NumberUses
  /** Numbers that are in an open port request. */
  ports: ReadonlyMap<string, PortedNumber>
  /** Whose pool a number comes from. */
  pools: ReadonlyMap<string, string>
}

/** The number that a document is about; undefined: it is none. */
export const numberOf = (id: string): string | undefined => {
  const number = normalizeNumber(id.replace(/[\s().-]/g, ''))
  return isE164(number) ? number : undefined
}

// Whoever has a number in one of these has it; in all other states nobody does.
const owned: ReadonlySet<NumberState> = new Set(['in_service', 'port_in', 'port_out', 'reserved'])

/** In whose hands a number is, and what is to be told of how it came there. */
interface Holding {
  state: NumberState
  accountId: string
  previouslyAssignedTo: string | undefined
  /** The customer is gone: nothing of theirs stays with the number. */
  isLeft: boolean
  findings: readonly Finding[]
}

/** Nobody owns it: what becomes of it. Undefined: a person has to say. */
const freeState: Readonly<Partial<Record<NumberState, NumberState>>> = {
  in_service: 'available',
  reserved: 'available',
}

const freeHolding = (document: KazooDocument, state: NumberState, previous: string | undefined): Holding => {
  const free = owned.has(state) ? freeState[state] : state
  const findings =
    free === state
      ? []
      : [
          finding(document, 'repaired', 'number_without_owner', {
            field: 'pvt_state',
            old: state,
            new: free ?? '',
          }),
        ]
  return { state: free ?? state, accountId: '', previouslyAssignedTo: previous, isLeft: false, findings }
}

const holdingOf = (document: KazooDocument, state: NumberState, context: NumberContext): Holding => {
  const { fields } = document
  const owner = textIn(fields, 'pvt_assigned_to')
  const previous = textIn(fields, 'pvt_previously_assigned_to')
  if (owner === undefined) return freeHolding(document, state, previous)
  const told = { field: 'pvt_assigned_to', old: owner }
  if (!owned.has(state)) {
    const findings = [finding(document, 'repaired', 'number_owner_dropped', { ...told, new: '' })]
    return { state, accountId: '', previouslyAssignedTo: owner, isLeft: true, findings }
  }
  if (context.accounts.has(owner))
    return { state, accountId: owner, previouslyAssignedTo: previous, isLeft: false, findings: [] }
  const left = state === 'reserved' ? 'available' : 'aging'
  const findings = [finding(document, 'repaired', 'number_owner_gone', { ...told, new: left })]
  return { state: left, accountId: '', previouslyAssignedTo: owner, isLeft: true, findings }
}

/** A number on its way here is its new account's; nobody takes it from whoever has it. */
const withPort = (document: KazooDocument, holding: Holding, port: PortedNumber | undefined): Holding => {
  if (!port) return holding
  const { accountId, state } = holding
  if (accountId !== '' && accountId !== port.accountId) {
    const told = { field: 'pvt_assigned_to', old: accountId, new: port.accountId }
    return {
      ...holding,
      findings: [...holding.findings, finding(document, 'needs_hand', 'port_number_of_another', told)],
    }
  }
  const told = { field: 'pvt_state', old: state, new: 'port_in' }
  const findings = state === 'port_in' ? [] : [finding(document, 'repaired', 'number_in_port', told)]
  return { ...holding, state: 'port_in', accountId: port.accountId, isLeft: false, findings }
}

const historyOf = (fields: Json, { accounts }: NumberContext): string[] => {
  const history = fields.pvt_reserve_history
  return Array.isArray(history) ? history.filter((id) => typeof id === 'string' && accounts.has(id)) : []
}

/** The mobile device that answers to a number. */
const deviceOf = (doc: Json): string | undefined => textIn(doc, 'mobile', 'device-id')

/** What a number leads to: what lists it, whatever it says. */
const useOf = (
  document: KazooDocument,
  number: string,
  { accountId, deviceId }: { accountId: string; deviceId: string | undefined },
  context: NumberContext,
): { usedBy: string; findings: readonly Finding[] } => {
  const stated = statedUseOf(document.fields)
  if (accountId === '') return { usedBy: '', findings: [] }
  const uses = context.uses.of(accountId, number)
  const other = deviceId === undefined ? '' : 'mobile'
  const usedBy = uses.find((use) => use === stated) ?? uses[0] ?? other
  if (usedBy === stated) return { usedBy, findings: [] }
  const told = { field: 'pvt_used_by', old: stated, new: usedBy }
  return { usedBy, findings: [finding(document, 'repaired', 'number_use_differs', told)] }
}

/** The public fields of a number in a port request, of which the number's own tell more. */
const withPorting = (doc: Json, port: PortedNumber | undefined): Json =>
  port ? { ...doc, porting: { ...port.porting, ...(memberOf(doc, 'porting') as Json | undefined) } } : doc

const documentOf = (fields: Json, { accountId, state, isLeft }: Holding, port: PortedNumber | undefined) => {
  if (isLeft) return {}
  const doc = publicFieldsOf(fields)
  if (accountId === '') return withoutOwnersFields(doc)
  return state === 'port_in' ? withPorting(doc, port) : doc
}

const carrierDataOf = (fields: Json, number: string, context: NumberContext) => {
  const pool = context.pools.get(number)
  const { carrierData, ...facts } = plainFactsOf(fields)
  const data = pool === undefined ? carrierData : { ...carrierData, pool }
  return data ? { ...facts, carrierData: data } : facts
}

const draftOf = (document: KazooDocument, number: string, holding: Holding, context: NumberContext) => {
  const { fields } = document
  const { accountId, state, previouslyAssignedTo } = holding
  const carrier = carrierOf(fields)
  const doc = documentOf(fields, holding, context.ports.get(number))
  const deviceId = accountId === '' ? undefined : deviceOf(doc)
  const { usedBy, findings } = useOf(document, number, { accountId, deviceId }, context)
  const features = featuresOf(accountId === '' ? {} : fields, doc, carrier)
  const history = historyOf(fields, context)
  const hidden = {
    features,
    ...overridesOf(fields),
    ...(accountId !== '' && history.length > 0 ? { reserveHistory: history } : {}),
    ...(previouslyAssignedTo === undefined ? {} : { previouslyAssignedTo }),
    ...carrierDataOf(fields, number, context),
    ...(deviceId === undefined ? {} : { deviceId }),
  }
  const draft: Draft = {
    // Under another name than its own it makes room for what stands under that.
    as: number === document.id ? 'number' : 'number_by_hearsay',
    accountId,
    id: number,
    ...timesOf(fields),
    doc,
    facts: { state, carrier, usedBy, hidden },
    files: [],
  }
  return { draft, findings }
}

const oddNames = (document: KazooDocument, number: string) =>
  document.id === number
    ? []
    : [finding(document, 'repaired', 'number_normalised', { field: '_id', old: document.id, new: number })]

const conflictsOf = (document: KazooDocument) =>
  document.conflicts.length === 0
    ? []
    : [
        finding(document, 'repaired', 'conflicting_revisions', {
          field: '_rev',
          old: document.conflicts.join(' '),
          ...(document.rev === undefined ? {} : { new: document.rev }),
        }),
      ]

const isNumber = ({ type }: KazooDocument) => type === 'number' || type === ''

/** What a person has to look at is kept as it is. */
const keptFor = (
  document: KazooDocument,
  { systemId }: NumberContext,
  code: string,
  [field, old]: [string, string],
) => keepDocument(document, systemId, { findings: [finding(document, 'needs_hand', code, { field, old })] })

const isPending = (state: NumberState, { accountId }: Holding) =>
  accountId === '' && (state === 'port_in' || state === 'port_out')

/** A document of a number database. */
export const convertNumber = (document: KazooDocument, context: NumberContext): Converted => {
  const { fields } = document
  if (!isNumber(document)) return converted(document, 'skipped')
  const text = stateTextOf(fields)
  if (isGone(fields) || text === 'discovery') return converted(document, 'skipped')
  const number = numberOf(document.id)
  if (number === undefined) return keptFor(document, context, 'number_unreadable', ['_id', document.id])
  const state = knownState(text)
  if (!state) return keptFor(document, context, 'number_state_unknown', ['pvt_state', text ?? ''])
  const holding = withPort(document, holdingOf(document, state, context), context.ports.get(number))
  if (isPending(holding.state, holding))
    return keptFor(document, context, 'number_without_owner', ['pvt_state', holding.state])
  const { draft, findings } = draftOf(document, number, holding, context)
  return converted(document, 'imported', {
    drafts: [draft],
    findings: [...conflictsOf(document), ...oddNames(document, number), ...holding.findings, ...findings],
  })
}
