import { isTrue, type Json } from '../../../lib/json.ts'
import { memberOf } from '../../../lib/member.ts'
import { databasesOf, type Facts } from '../chapters/chapter.ts'
import { copiesDatabase } from '../conversions/accounts/seen.ts'
import { accountDatabase } from '../documents/database-names.ts'
import { isGone, timesOf } from '../documents/fields.ts'
import { rejectedIn } from '../documents/rejected.ts'
import type { RunStore } from '../running/store.ts'
import { changedSince, codesOf } from './drawings.ts'
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

interface Tools {
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

const withWhy = (why: string | undefined) => (why ? { why } : {})

/** Compares the documents of accounts with the responses of the API. */
export const createSourceComparison = ({ run, respond }: Tools) => {
  const compareOne = async (
    facts: Facts,
    accountId: string,
    { database, id, fields }: { database: string; id: string; fields: Json },
  ): Promise<ComparedDocument | undefined> => {
    const type = String(fields.pvt_type ?? 'number')
    const kind = Object.hasOwn(comparedKinds, type) ? comparedKinds[type] : undefined
    if (!kind || isTrue(fields.pvt_deleted) || isTrue(fields._deleted)) return undefined
    const response = await respond(`/v2/accounts/${accountId}${kind.path(encodeURIComponent(id))}`)
    // What was decided about accounts among each other is reported where their copies are.
    const findings = [
      ...(await run.findingsOf(database, id)),
      ...(type === 'account' ? await run.findingsOf(copiesDatabase, id) : []),
    ]
    const isKnown = (await run.known(database, [id])).has(id)
    const [since] = isKnown ? [] : ['it came after the import']
    if (!response)
      return { accountId, type, id, differences: [], isMissing: true, ...withWhy(since ?? codesOf(findings)) }
    const { modified } = response.metadata
    const changed = typeof modified === 'number' ? changedSince(timesOf(fields).modified, modified) : since
    const account = facts.plan.accounts.get(accountId)
    const own = await facts.source.document(accountDatabase(accountId), accountId)
    const realms = [account?.realm, memberOf(own?.fields ?? JSON.parse(own?.text ?? '{}'), 'realm')]
    const differences = keyDifferences(publicKeys(fields, kind), response.data, {
      realms: realms.map((realm) => String(realm).toLowerCase()),
      rejected: rejectedIn(response.data),
    })
    return {
      accountId,
      type,
      id,
      isMissing: false,
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
        fields.pvt_type === 'number' ? undefined : accountId,
      ),

    /** Each phone number that one of these accounts has. */
    async *numbersOf(facts: Facts, accountIds: ReadonlySet<string>) {
      for (const database of databasesOf(facts, 'numbers'))
        yield* compareAll(facts, database, ({ fields }) => {
          const owner = String(fields.pvt_assigned_to)
          const isNumber = (fields.pvt_type ?? 'number') === 'number' && !isGone(fields)
          return isNumber && accountIds.has(owner) ? owner : undefined
        })
    },
  }
}
