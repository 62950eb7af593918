import { type AccountRecord, userKind } from '../../../auth/identity.ts'
import { joinProblems, type Problems } from '../../../lib/failure.ts'
import type { Json } from '../../../lib/json.ts'
import { oncePer } from '../../../lib/once-per.ts'
import { compilePattern, type Pattern } from '../../../lib/pattern.ts'
import { storedPart } from '../../../lib/record-shape.ts'
import { type ChangeSet, type Claim, conflict } from '../../../storage/change-set.ts'
import { createCollection, type StoredClaim } from '../../../storage/collection.ts'
import { type StoredRecord, sortKeyOf } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import type { DepsOf } from '../../area.ts'
import type { NumberRecord, Numbers } from '../../numbers/phone-numbers/operations.ts'
import { isReleasable } from '../../numbers/phone-numbers/rules.ts'
import type { OwnNumber } from '../../numbers/phone-numbers/signals.ts'
import { ownerProblems, records } from '../../records.ts'
import {
  flowProblems,
  missingNumberProblems,
  modulesOf,
  patternProblems,
  phoneNumbersAmong,
  recordsNamedIn,
  tidyNumbers,
} from './rules.ts'
import { type CallflowDoc, callflowShape } from './schema.ts'

export type CallflowRecord = StoredRecord<CallflowDoc, object>

const numberClaim = (accountId: string, value: string): Claim => ({
  scope: accountId,
  name: 'callflow_number',
  value,
})

const patternClaim = 'callflow_pattern'

// Not unique: lists the callflows that have patterns.
const claims = ({ accountId, id, doc }: CallflowRecord): StoredClaim[] => [
  ...(doc.numbers ?? []).map((number) => ({ ...numberClaim(accountId, number), orElse: conflict })),
  ...(doc.patterns?.length ? [{ scope: accountId, name: patternClaim, value: id, orElse: conflict }] : []),
]

const claimsPerRead = 500

const createCallflowStore = (store: Store) => {
  const { records } = store
  const collection = createCollection<CallflowDoc, object>(store, {
    kind: 'callflow',
    sortKey: (doc) => sortKeyOf(doc.name ?? doc.numbers?.[0]),
    ownerId: (doc) => doc.owner_id ?? '',
    row: (doc) => ({
      name: doc.name,
      type: doc.type,
      numbers: doc.numbers ?? [],
      patterns: doc.patterns ?? [],
      featurecode: doc.featurecode ?? false,
      owner_id: doc.owner_id,
      group_id: doc.group_id,
      modules: modulesOf(doc.flow),
      flags: doc.flags ?? [],
    }),
    claims,
  })

  return {
    ...collection,

    byNumber: (accountId: string, number: string) => collection.holder(numberClaim(accountId, number)),

    /** In the order of their creation. */
    async withPatterns(accountId: string): Promise<string[]> {
      const ids: string[] = []
      for (;;) {
        const found = await records.claimants(accountId, patternClaim, '', claimsPerRead, ids.at(-1))
        ids.push(...found.map(({ id }) => id))
        if (found.length < claimsPerRead) return ids
      }
    },
  }
}

type CallflowStore = ReturnType<typeof createCallflowStore>

const callflowUse = 'callflow'

/** Whether the account may release a number. A number of a mobile device stays. */
const mayGo = ({ state, carrier, hidden }: NumberRecord) =>
  hidden.deviceId === undefined && isReleasable(state, carrier)

const takenProblem = (number: string, holder: CallflowRecord | undefined): Problems => {
  if (!holder) return {}
  const message = `Number ${number} exists in callflow ${holder.id} ${holder.doc.name ?? ''}`.trimEnd()
  return { numbers: { unique: { message, cause: number } } }
}

const useProblem = (accountId: string, number: string, stored: NumberRecord | undefined): Problems => {
  if (stored?.accountId !== accountId)
    return { numbers: { not_found: { message: 'The account has no such phone number', cause: number } } }
  return stored.usedBy === 'trunkstore'
    ? {
        numbers: {
          unique: {
            message: 'The phone number is assigned to a trunk. Remove it there first',
            cause: number,
          },
        },
      }
    : {}
}

/** The numbers of callflows, some of which are phone numbers of the account. */
const callflowNumbers = (callflows: CallflowStore, numbers: Numbers) => {
  const phonesAmong = async (listed: readonly string[] = []) =>
    phoneNumbersAmong(listed, await numbers.planning.rules())

  return {
    async problems({ id: accountId }: AccountRecord, doc: CallflowDoc, own: CallflowRecord | undefined) {
      const wanted = (doc.numbers ?? []).filter((number) => !own?.doc.numbers?.includes(number))
      const taken = await Promise.all(
        wanted.map(async (number) => takenProblem(number, await callflows.byNumber(accountId, number))),
      )
      const phones = await phonesAmong(wanted)
      const stored = await numbers.store.findSeveral(phones)
      const foreign = phones.map((number) => useProblem(accountId, number, stored.get(number)))
      return joinProblems(...taken, ...foreign)
    },

    /** Updates which numbers are used by callflows. */
    async moveUses(
      set: ChangeSet,
      accountId: string,
      before: CallflowRecord | undefined,
      after: CallflowRecord | undefined,
    ) {
      const had = await phonesAmong(before?.doc.numbers)
      const has = await phonesAmong(after?.doc.numbers)
      const view = await numbers.preload([...had, ...has])
      const isChanged = (number: string) =>
        set.changes.some(({ kind, id }) => kind === 'number' && id === number)
      for (const number of had) {
        if (has.includes(number) || isChanged(number)) continue
        const stored = await view.get(number)
        if (stored?.accountId === accountId && stored.usedBy === callflowUse)
          await numbers.addUse(view, set, { accountId, number, usedBy: undefined })
      }
      for (const number of has) {
        if (had.includes(number)) continue
        // The number was released or taken since it was checked: the request is checked again.
        if ((await view.get(number))?.accountId !== accountId) throw conflict()
        await numbers.addUse(view, set, { accountId, number, usedBy: callflowUse })
      }
    },

    /** Replaces a number that a callflow lists, or removes it. */
    async replaceNumber(
      set: ChangeSet,
      { accountId, number, after }: OwnNumber & { after?: string },
      together: readonly ChangeSet[],
    ) {
      const holder = await callflows.byNumber(accountId, number)
      const callflow = holder && callflows.leftBy(together, holder)
      if (!callflow?.doc.numbers?.includes(number)) return
      const isTaken = after !== undefined && (await callflows.byNumber(accountId, after)) !== undefined
      const instead = after === undefined || isTaken ? [] : [after]
      const kept = callflow.doc.numbers.flatMap((one) => (one === number ? instead : [one]))
      const doc = { ...callflow.doc, numbers: [...new Set(kept)] }
      callflows.replace(set, callflow, callflows.revise(callflow, { doc }))
    },

    /** Releases the phone numbers of a user's callflows, in the given change set. */
    async releaseNumbersOf(set: ChangeSet, account: AccountRecord, ownerId: string) {
      const owned = await callflows.all({ accountId: account.id, ownerId })
      const listed = await phonesAmong(owned.flatMap(({ doc }) => doc.numbers ?? []))
      const view = await numbers.preload(listed)
      const ids: string[] = []
      for (const number of listed) {
        const stored = await view.get(number)
        if (stored?.accountId !== account.id || !mayGo(stored)) continue
        await numbers.addRelease(view, set, stored)
        ids.push(number)
      }
      return ids
    },
  }
}

const patternsIn = oncePer(({ patterns = [] }: Readonly<CallflowDoc>): readonly Pattern[] =>
  patterns.flatMap((text) => compilePattern(text).pattern ?? []),
)

export type Callflows = ReturnType<typeof createCallflows>

export const createCallflows = ({ store, numbers }: DepsOf<'store'> & { numbers: Numbers }) => {
  const callflows = createCallflowStore(store)
  const { problems, moveUses, replaceNumber, releaseNumbersOf } = callflowNumbers(callflows, numbers)

  const dialledAs = async (account: AccountRecord, texts: unknown) =>
    tidyNumbers(texts, { plans: [account.doc.dial_plan], numbering: await numbers.planning.rules() })

  const docOf = async (account: AccountRecord, data: Json) =>
    storedPart<CallflowDoc>({ ...data, numbers: await dialledAs(account, data.numbers) }, callflowShape)

  const kept = records(store, {
    collection: callflows,
    shape: callflowShape,
    async problems({ account, data, before }) {
      const doc = await docOf(account, data)
      return joinProblems(
        missingNumberProblems(doc, before?.doc),
        await problems(account, doc, before),
        patternProblems(doc),
        flowProblems(doc.flow),
        await ownerProblems(store, account.id, doc, before),
      )
    },
    content: async ({ account, data }) => ({ doc: await docOf(account, data) }),
    beforeWrite: (set, { account, before, after }) => moveUses(set, account.id, before, after),
    beforeDelete: (set, callflow) => moveUses(set, callflow.accountId, callflow, undefined),
  })

  return {
    ...kept,
    byNumber: callflows.byNumber,
    replaceNumber,
    releaseNumbersOf,

    /** The names of the records that a flow refers to, by id. */
    async namesIn({ accountId, doc }: CallflowRecord): Promise<Json> {
      const named = await Promise.all(
        recordsNamedIn(doc.flow).map(async ({ kind, id }) => {
          const record = await store.records.find(accountId, kind, id)
          if (!record) return []
          const { name, first_name: first, last_name: last, numbers: listed } = record.doc
          const called = kind === userKind ? `${first} ${last}` : name
          return [[id, { name: called, type: kind, ...(listed ? { numbers: listed } : {}) }] as const]
        }),
      )
      return Object.fromEntries(named.flat())
    },

    async listing(account: AccountRecord, texts: Iterable<string>): Promise<CallflowRecord[]> {
      const wanted = await dialledAs(account, [...texts])
      const found = await Promise.all(wanted.map((number) => callflows.byNumber(account.id, number)))
      return [...new Map(found.flatMap((callflow) => (callflow ? [[callflow.id, callflow]] : []))).values()]
    },

    /** Oldest first. */
    async patterned(accountId: string) {
      const ids = await callflows.withPatterns(accountId)
      const found = await Promise.all(ids.map((id) => callflows.find(accountId, id)))
      return found.flatMap((callflow) =>
        callflow ? [{ id: callflow.id, patterns: patternsIn(callflow.doc) }] : [],
      )
    },
  }
}
