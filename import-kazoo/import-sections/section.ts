import type { ImportScope } from '../../src/areas/system/imports/rules.ts'
import type { AccountsPlan } from '../conversions/accounts.rules.ts'
import type { NumberUses } from '../conversions/numbers.rules.ts'
import type { DatabaseKind } from '../documents/database-names.ts'
import type { Converted, Finding, KazooDocument } from '../documents/document.ts'
import { readDocument } from '../documents/fields.ts'
import type { Source } from '../source/source.ts'

export interface AccountFact {
  name: string
  realm: string
  parent: string | undefined
  /** Completes dialled numbers. */
  dialPlan: unknown
}

export interface Facts extends ImportScope {
  source: Source
  kinds: ReadonlyMap<string, DatabaseKind>
  plan: AccountsPlan
  masterId: string
  /** Owner of documents that belong to no account. */
  systemId: string
  /** Storage in other places than this source. */
  elsewhere: readonly Finding[]
  /** Ancestors first. */
  accounts: ReadonlyMap<string, AccountFact>
  /** See `lostNames`. */
  lost: ReadonlySet<string>
  plans: ReadonlyMap<string, ReadonlySet<string>>
  providers: ReadonlySet<string>
  /** Undefined: query the store. */
  uses: NumberUses | undefined
  /** Whether months continue the balance of the one before. */
  carriesOver: boolean
  now: number
}

interface Place {
  database: string
  facts: Facts
}

export interface ImportSection {
  name: string
  /** `whole`: all documents of a database at once, which must fit in memory. `pages`: page by page. */
  reads: 'whole' | 'pages'
  /** Documents depend on others that may change later: all are read again at the end. */
  dependsOnOthers?: boolean
  databases(facts: Facts): readonly string[]
  /** Returns a result for each document, in any order. The same documents always have the same results. */
  convert(
    documents: readonly KazooDocument[],
    place: Place,
  ): readonly Converted[] | Promise<readonly Converted[]>
}

/** For results that no document of the source has. */
export const emptyDocument = (database: string, id: string, type = ''): KazooDocument => ({
  ...{ database, id, type, rev: undefined, text: '{}', fields: {}, conflicts: [] },
})

/** Pages of documents with their types. */
export async function* documentPages(source: Source, database: string, after?: string) {
  for await (const { documents, mark } of source.pages(database, after))
    yield { documents: documents.map((document) => readDocument(database, document)), mark }
}

export const databasesOf = ({ kinds }: Pick<Facts, 'kinds'>, ...wanted: readonly DatabaseKind['kind'][]) =>
  [...kinds].filter(([, { kind }]) => wanted.includes(kind)).map(([name]) => name)

export const systemDatabase = ({ kinds }: Pick<Facts, 'kinds'>, name: string) =>
  kinds.has(name) ? [name] : []

/** Documents of accounts outside the scope are not reported. */
export const isOfOthers = ({ only, accounts }: Pick<Facts, 'only' | 'accounts'>, owner: string | undefined) =>
  only.length > 0 && owner !== undefined && !accounts.has(owner)

/** The account of the database; empty if it belongs to none. */
export const accountIn = ({ database, facts }: Place) => {
  const kind = facts.kinds.get(database)
  return kind && 'accountId' in kind ? kind.accountId : ''
}
