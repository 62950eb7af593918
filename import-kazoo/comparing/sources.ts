import { isTrue, type Json } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import { copiesDatabase } from '../conversions/account-tree.rules.ts'
import { accountDatabase } from '../documents/database-names.ts'
import { isGone, rejectedIn, timesOf } from '../documents/fields.ts'
import { databasesOf, type Facts } from '../import-sections/section.ts'
import type { RunStore } from '../running/store.ts'
import { changedSince, codesOf, reportOf } from './drawings.ts'
import { comparedKinds, type KeyDifference, keyDifferences, publicKeys } from './keys.ts'

/** What the API responds to a GET of the operator; undefined: there is no such record. */
export type Respond = (path: string) => Promise<{ data: Json; metadata: Json } | undefined>

/** What comparing one document has found. */
export interface ComparedDocument {
  accountId: string
  type: string
  id: string
  differences: readonly (KeyDifference & { why?: string })[]
  isMissing: boolean
  /** Why it is missing, as far as the import has reported it. */
  why?: string
}

interface Deps {
  run: Pick<RunStore, 'findingsOf' | 'known'>
  respond: Respond
}

type Found = Awaited<ReturnType<RunStore['findingsOf']>>

/** Codes about a complete document, of which no field becomes part of a record. */
const ofWhole: ReadonlySet<string> = new Set(['limits_superseded'])

/** Whether the import has reported something about a field, one within it, or one around it. */
const isAbout =
  (path: string) =>
  ({ field, code }: Found[number]) =>
    field === undefined
      ? ofWhole.has(code)
      : `${path}.`.startsWith(`${field}.`) || field.startsWith(`${path}.`) || path.split('.').includes(field)

/** What a phone or a carrier loses may disable it. */
const explains = (path: string, findings: Found) =>
  path === 'enabled' ? findings : findings.filter(isAbout(path))

/** The oldest numbers have no type. */
const typeOf = ({ pvt_type: type = 'number' }: Json) => String(type)

const withWhy = (why: string | undefined) => (why ? { why } : {})

interface Place {
  database: string
  id: string
}

/** Compares the documents of accounts with the responses of the API. */
export const createSourceComparison = ({ run, respond }: Deps) => {
  let latest: { accountId: string; realms: readonly string[] } | undefined

  /** The realms of an account here and there: its records do not repeat them. */
  const realmsOf = async ({ plan, source }: Facts, accountId: string) => {
    if (latest?.accountId === accountId) return latest.realms
    const own = await source.document(accountDatabase(accountId), accountId)
    const realms = [plan.accounts.get(accountId)?.realm, memberOf(JSON.parse(own?.text ?? '{}'), 'realm')]
    latest = { accountId, realms: realms.map((realm) => String(realm).toLowerCase()) }
    return latest.realms
  }

  const reportOfType = async (type: string, place: Place) => {
    const { since, findings } = await reportOf(run, place)
    // What was decided about accounts among each other is reported where their copies are.
    const copies = type === 'account' ? await run.findingsOf(copiesDatabase, place.id) : []
    return { since, findings: [...findings, ...copies] }
  }

  const compareOne = async (
    facts: Facts,
    accountId: string,
    { fields, ...place }: Place & { fields: Json },
  ): Promise<ComparedDocument | undefined> => {
    const [type, id] = [typeOf(fields), place.id]
    const kind = Object.hasOwn(comparedKinds, type) ? comparedKinds[type] : undefined
    if (!kind || isTrue(fields.pvt_deleted) || isTrue(fields._deleted)) return undefined
    const response = await respond(`/v2/accounts/${accountId}${kind.path(encodeURIComponent(id))}`)
    const compared = { accountId, type, id, isMissing: !response, differences: [] }
    if (!response) {
      const { since, findings } = await reportOfType(type, place)
      return { ...compared, ...withWhy(since ?? codesOf(findings)) }
    }
    const differences = keyDifferences(publicKeys(fields, kind), response.data, {
      realms: type === 'number' ? [] : await realmsOf(facts, accountId),
      rejected: rejectedIn(response.data),
    })
    if (differences.length === 0) return compared
    const { modified } = response.metadata
    const { since, findings } = await reportOfType(type, place)
    const changed = typeof modified === 'number' ? changedSince(timesOf(fields).modified, modified) : since
    return {
      ...compared,
      differences: differences.map((one) => ({
        ...one,
        ...withWhy(changed ?? codesOf(explains(one.path, findings))),
      })),
    }
  }

  const compareAll = async function* (
    facts: Facts,
    database: string,
    ownerOf: (document: { id: string; fields: Json }) => string | undefined,
  ): AsyncGenerator<ComparedDocument> {
    if (!facts.kinds.has(database)) return
    for await (const { documents } of facts.source.pages(database))
      for (const { id, text, fields = JSON.parse(text) } of documents) {
        const accountId = ownerOf({ id, fields })
        const compared =
          accountId === undefined ? undefined : await compareOne(facts, accountId, { database, id, fields })
        if (compared) yield compared
      }
  }

  return {
    /** Each document of an account's own database that is to become a record. */
    ofAccount: (facts: Facts, accountId: string) =>
      compareAll(facts, accountDatabase(accountId), ({ fields }) =>
        typeOf(fields) === 'number' ? undefined : accountId,
      ),

    /** Each phone number that one of these accounts has. */
    async *numbersOf(facts: Facts, accountIds: ReadonlySet<string>) {
      for (const database of databasesOf(facts, 'numbers'))
        yield* compareAll(facts, database, ({ fields }) => {
          const owner = String(fields.pvt_assigned_to)
          const isNumber = typeOf(fields) === 'number' && !isGone(fields)
          return isNumber && accountIds.has(owner) ? owner : undefined
        })
    },
  }
}
