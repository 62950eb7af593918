import type { ImportScope } from '../../src/areas/system/imports/rules.ts'
import type { AccountsPlan } from '../conversions/accounts.rules.ts'
import type { NumberUses } from '../conversions/number-sources.rules.ts'
import type { DatabaseKind } from '../documents/database-names.ts'
import type { Converted, Finding, KazooDocument } from '../documents/document.ts'
import type { Source } from '../source/source.ts'

/** What is known of an account that is imported, while all the others are read. */
export interface AccountFact {
  name: string
  realm: string
  /** Undefined of the master. */
  parent: string | undefined
  /** How what is dialled is completed. */
  dialPlan: unknown
}

/** Nothing is left out. */
export const everything: ImportScope = {
  sinceMonth: undefined,
  withoutCalls: false,
  withSystemNotices: false,
  allowMissing: false,
  only: [],
}

/** What conversions know of the whole before they begin. */
export interface Facts extends ImportScope {
  source: Source
  /** What is in each database of the source. */
  kinds: ReadonlyMap<string, DatabaseKind>
  plan: AccountsPlan
  masterId: string
  /** What of it lies elsewhere, which this source does not lead to. */
  elsewhere: readonly Finding[]
  /** Those of the plan, each behind who stands above it. */
  accounts: ReadonlyMap<string, AccountFact>
  /** Names that all accounts share, and that somebody else keeps: see `lostNames`. */
  lost: ReadonlySet<string>
  /** Price lists, by the account that sells by them. */
  plans: ReadonlyMap<string, ReadonlySet<string>>
  /** Providers of second factors, by `providerKey`. */
  providers: ReadonlySet<string>
  /** What numbers lead to, by the documents of the source; undefined where what is stored is asked. */
  uses: NumberUses | undefined
  /** Whether months begin with what the one before ended with, where they do not say. */
  carriesOver: boolean
  /** Gregorian seconds. */
  now: number
}

/** Where documents stand that are converted. */
interface Place {
  database: string
  facts: Facts
}

/** A part of the run: which databases it reads, and what it makes of their documents. */
export interface Chapter {
  /** As reports and progress call it. */
  name: string
  /**
   * `whole`: all documents of a database at once, because they are judged beside each other; they have to fit in memory.
   * `pages`: a page at a time, because there may be any number.
   */
  reads: 'whole' | 'pages'
  /**
   * What documents come to depends on what else has come, which may change without them: at the end all of them are read
   * once more.
   */
  dependsOnOthers?: boolean
  /** The databases in the order in which they are read. */
  databases(facts: Facts): readonly string[]
  /** An outcome for each document, in any order. The same documents have the same outcome at any time. */
  convert(
    documents: readonly KazooDocument[],
    place: Place,
  ): readonly Converted[] | Promise<readonly Converted[]>
}

/** The databases of these kinds, in the order of their names. */
export const databasesOf = ({ kinds }: Pick<Facts, 'kinds'>, ...wanted: readonly DatabaseKind['kind'][]) =>
  [...kinds].filter(([, { kind }]) => wanted.includes(kind)).map(([name]) => name)

/** A system database, if the source has it. */
export const systemDatabase = ({ kinds }: Pick<Facts, 'kinds'>, name: string) =>
  kinds.has(name) ? [name] : []

/** Whether something is of an account that is left out because others were named: nobody is told of each. */
export const isOfOthers = ({ only, accounts }: Pick<Facts, 'only' | 'accounts'>, owner: string | undefined) =>
  only.length > 0 && owner !== undefined && !accounts.has(owner)

export const kindOf = ({ database, facts }: Place): DatabaseKind =>
  facts.kinds.get(database) ?? { kind: 'odd', taking: 'list' }
