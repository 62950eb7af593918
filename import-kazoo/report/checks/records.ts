import { recordsNamedIn } from '../../../src/areas/voice/callflows/rules.ts'
import { isObject, type Json } from '../../../src/lib/json.ts'
import type { StoredRecord } from '../../../src/storage/records.ts'
import { accountDatabase } from '../../documents/database-names.ts'
import { inParts } from '../../running/at-once.ts'
import type { CheckDeps, Tell } from './tools.ts'

/** What a record names: a record of a kind, of an account. */
interface Reference {
  field: string
  kind: string
  accountId: string
  id: string
}

const isId = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f]{32}$/.test(value)

const ownerIn = (accountId: string, { owner_id: owner }: Json): Reference[] =>
  isId(owner) ? [{ field: 'owner_id', kind: 'user', accountId, id: owner }] : []

const inFlow = (accountId: string, { flow }: Json): Reference[] =>
  isObject(flow)
    ? recordsNamedIn(flow).flatMap(({ kind, id }) =>
        isId(id) ? [{ field: 'flow', kind, accountId, id }] : [],
      )
    : []

const inGroup = (accountId: string, { endpoints }: Json): Reference[] =>
  Object.entries(isObject(endpoints) ? endpoints : {}).flatMap(([id, endpoint]) =>
    isObject(endpoint) && typeof endpoint.type === 'string' && isId(id)
      ? [{ field: `endpoints.${id}`, kind: endpoint.type, accountId, id }]
      : [],
  )

const inServices = ({ plans }: Json): Reference[] =>
  Object.entries(isObject(plans) ? plans : {}).flatMap(([id, assigned]) =>
    isObject(assigned) && isId(assigned.vendor_id)
      ? [{ field: `plans.${id}`, kind: 'service_plan', accountId: assigned.vendor_id, id }]
      : [],
  )

/** What a record names of other records. */
export const referencesIn = (kind: string, accountId: string, doc: Json): Reference[] => [
  ...ownerIn(accountId, doc),
  ...(kind === 'callflow' ? inFlow(accountId, doc) : []),
  ...(kind === 'group' ? inGroup(accountId, doc) : []),
  ...(kind === 'services' ? inServices(doc) : []),
]

// What nothing but documents of an account's own database makes, under their ids.
const kindsOfDocuments: ReadonlySet<string> = new Set(['user', 'device', 'callflow', 'group', 'service_plan'])

type Naming = Reference & { by: Pick<StoredRecord, 'kind' | 'accountId' | 'id'> }

/** Nothing stands in accounts that no document made, and what records name is there, unless their documents named nothing. */
export const checkRecords = async ({ run, checked, records, facts }: CheckDeps, tell: Tell) => {
  const judgeOrigins = async (accountId: string, all: readonly StoredRecord[]) => {
    // What the store had before anything came is the master account's: the admin of the first start, above all.
    if (accountId === facts.masterId) return
    const judged = all.filter(({ kind }) => kindsOfDocuments.has(kind))
    const known = await run.known(
      accountDatabase(accountId),
      judged.map(({ id }) => id),
    )
    for (const { kind, id } of judged) {
      const made = known
        .get(id)
        ?.records.some(([as, owner, of]) => as === kind && owner === accountId && of === id)
      if (!made) tell({ place: `account ${accountId}, ${kind} ${id}`, reason: 'no document has made it' })
    }
  }

  /** What is named and not there. */
  const dangling = async (all: readonly StoredRecord[]): Promise<Naming[]> => {
    const named = all.flatMap((by) =>
      referencesIn(by.kind, by.accountId, by.doc).map((reference) => ({ ...reference, by })),
    )
    const missing: Naming[] = []
    for (const same of Map.groupBy(named, ({ kind, accountId }) => `${kind}/${accountId}`).values())
      for (const some of inParts(same)) {
        const [first] = some
        if (!first) continue
        const there = await checked.present(
          first.kind,
          first.accountId,
          some.map(({ id }) => id),
        )
        missing.push(...some.filter(({ id }) => !there.has(id)))
      }
    return missing
  }

  /** Whether the document of a record names it as well, and nothing has come of what is named. */
  const isSoThere = async ({ by, accountId, id }: Naming) => {
    const database = by.kind === 'services' ? 'services' : accountDatabase(by.accountId)
    const said = facts.kinds.has(database) ? await facts.source.document(database, by.id) : undefined
    if (!said?.text.includes(id)) return false
    const named = (await run.known(accountDatabase(accountId), [id])).get(id)
    return (named?.records.length ?? 0) === 0
  }

  for (const accountId of facts.accounts.keys())
    for await (const all of records.everything(accountId)) {
      await judgeOrigins(accountId, all)
      for (const naming of await dangling(all)) {
        if (await isSoThere(naming)) continue
        const { by, field, kind, id } = naming
        const place = `account ${by.accountId}, ${by.kind} ${by.id}`
        tell({ place, reason: `${field}: the ${kind} ${id} is not there` })
      }
    }
}
