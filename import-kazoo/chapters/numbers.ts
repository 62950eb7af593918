// Numbers: pools and port requests first, because what numbers come to depends on them.
import { systemScope } from '../../src/storage/change-set.ts'
import { converted } from '../conversions/findings.ts'
import {
  convertPoolEntry,
  convertPortRequest,
  createUses,
  type PortedNumber,
  poolsIn,
  portsIn,
  type Use,
} from '../conversions/number-sources.rules.ts'
import { convertNumber, type NumberContext, numberOf } from '../conversions/numbers.rules.ts'
import type { KazooDocument } from '../documents/document.ts'
import { readDocument, textIn } from '../documents/fields.ts'
import { type Chapter, databasesOf, type Facts, isOfOthers, kindOf, systemDatabase } from './chapter.ts'
import { readingSystem } from './gathering.ts'

/** What leads a number of an account somewhere here, which its callflows and trunks say. */
export interface UsesHere {
  of(accountId: string, number: string): Promise<readonly Use[]>
}

const nothingLeads = { of: () => [] }

/** All documents of a small database. */
async function* documentsOf({ source }: Facts, database: string): AsyncGenerator<readonly KazooDocument[]> {
  for await (const { documents } of source.pages(database))
    yield documents.map((document) => readDocument(database, document))
}

/** Whose pools there are, and what is being ported: read once for each look at the source. */
const createSurroundings = () => {
  const known = new WeakMap<Facts, Promise<Pick<NumberContext, 'ports' | 'pools'>>>()

  const read = async (facts: Facts) => {
    const ports = new Map<string, PortedNumber>()
    const pools = new Map<string, string>()
    for (const name of systemDatabase(facts, 'port_requests'))
      for await (const documents of documentsOf(facts, name))
        for (const [number, port] of portsIn(documents, facts)) ports.set(number, port)
    for (const name of databasesOf(facts, 'pool'))
      for await (const documents of documentsOf(facts, name))
        for (const [number, accountId] of poolsIn(documents, facts)) pools.set(number, accountId)
    return { ports, pools }
  }

  return (facts: Facts) => {
    const found = known.get(facts) ?? readingSystem(() => read(facts))
    known.set(facts, found)
    return found
  }
}

/** Where only some accounts come, so do only their numbers: the others, and those of nobody, are the other system's. */
const isLeftToOthers = ({ fields }: KazooDocument, { only, accounts }: Facts) =>
  only.length > 0 && !accounts.has(textIn(fields, 'pvt_assigned_to') ?? '')

export const createNumberChapters = (
  usesHere: UsesHere,
): { pools: Chapter; numbers: Chapter; ports: Chapter } => {
  const surroundingsOf = createSurroundings()

  /** What leads the numbers of these documents somewhere. */
  const usesOf = async (documents: readonly KazooDocument[]) => {
    const uses = createUses()
    for (const { id, fields } of documents) {
      const [number, accountId] = [numberOf(id), textIn(fields, 'pvt_assigned_to')]
      if (number === undefined || accountId === undefined) continue
      const found = await usesHere.of(accountId, number)
      uses.add(
        accountId,
        found.map((use) => [number, use] as const),
      )
    }
    return uses
  }

  const contextOf = async (
    facts: Facts,
    uses: NumberContext['uses'] = nothingLeads,
  ): Promise<NumberContext> => ({
    accounts: facts.accounts,
    systemId: systemScope,
    uses,
    ...(await surroundingsOf(facts)),
  })

  return {
    pools: {
      name: 'pools',
      reads: 'pages',
      // Whatever nobody has yet stays with the system that gives it out to all.
      databases: (facts) => (facts.only.length > 0 ? [] : databasesOf(facts, 'pool')),
      convert(documents, place) {
        const kind = kindOf(place)
        const pool = kind.kind === 'pool' ? kind.pool : 'managed'
        const context = { accounts: place.facts.accounts, systemId: systemScope }
        return documents.map((document) => convertPoolEntry(document, pool, context))
      },
    },

    numbers: {
      name: 'numbers',
      reads: 'pages',
      dependsOnOthers: true,
      databases: (facts) => databasesOf(facts, 'numbers'),
      async convert(documents, { facts }) {
        const context = await contextOf(facts, facts.uses ?? (await usesOf(documents)))
        return documents.map((document) =>
          isLeftToOthers(document, facts) ? converted(document, 'skipped') : convertNumber(document, context),
        )
      },
    },

    ports: {
      name: 'port_requests',
      reads: 'pages',
      databases: (facts) => systemDatabase(facts, 'port_requests'),
      async convert(documents, { facts }) {
        const context = await contextOf(facts)
        return documents.map((document) =>
          isOfOthers(facts, textIn(document.fields, 'pvt_account_id'))
            ? converted(document, 'skipped')
            : convertPortRequest(document, context),
        )
      },
    },
  }
}
