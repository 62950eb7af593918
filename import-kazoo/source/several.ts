// A Kazoo whose databases, or some kinds of documents, lie on further servers: read as one.
import { isObject } from '../../src/lib/json.ts'
import { parsed } from './document-text.ts'
import type { DatabaseFacts, Source, SourceChanges, SourcePage } from './source.ts'

const sumOf = (numbers: readonly (number | undefined)[]) =>
  numbers.reduce((sum, number) => (sum === undefined || number === undefined ? undefined : sum + number), 0)

/** A text for each of the sources, in one. */
const textsIn = (text: string): Record<string, string> => {
  const value = parsed(text)
  const entries = isObject(value) ? Object.entries(value) : []
  return Object.fromEntries(entries.flatMap(([name, one]) => (typeof one === 'string' ? [[name, one]] : [])))
}

/** The first one is the main source. A document that several have is taken from the one that is named last. */
export const joinSources = (sources: readonly { name: string; source: Source }[]): Source => {
  const [first] = sources
  if (!first) throw new Error('there is no source')
  if (sources.length === 1) return first.source

  const holding = async (database: string) => {
    const facts = await Promise.all(sources.map(({ source }) => source.database(database)))
    return sources.flatMap((one, at) => {
      const found = facts[at]
      return found ? [{ ...one, facts: found }] : []
    })
  }

  async function* pages(database: string, after?: string): AsyncGenerator<SourcePage> {
    const [[reached, mark] = []] = Object.entries(textsIn(after ?? ''))
    const there = await holding(database)
    const start = Math.max(
      0,
      there.findIndex(({ name }) => name === reached),
    )
    for (const { name, source } of there.slice(start))
      for await (const { isLast: _, ...page } of source.pages(database, name === reached ? mark : undefined))
        yield { ...page, mark: JSON.stringify({ [name]: page.mark }) }
  }

  async function* changes(database: string, since: string): AsyncGenerator<SourceChanges> {
    const sequences = textsIn(since)
    for (const { name, source } of await holding(database))
      for await (const some of source.changes(database, sequences[name] ?? '0')) {
        sequences[name] = some.sequence
        yield { ...some, sequence: JSON.stringify(sequences) }
      }
  }

  return {
    facts: {
      ...first.source.facts,
      title: sources.map(({ source }) => source.facts.title).join(', '),
      canFollow: sources.every(({ source }) => source.facts.canFollow),
    },
    async databases() {
      const names = await Promise.all(sources.map(({ source }) => source.databases()))
      return [...new Set(names.flat())].sort()
    },
    async database(database): Promise<DatabaseFacts | undefined> {
      const there = await holding(database)
      if (there.length === 0) return undefined
      const sequences = there.flatMap(({ name, facts }) =>
        facts.sequence === undefined ? [] : [[name, facts.sequence]],
      )
      return {
        documents: sumOf(there.map(({ facts }) => facts.documents)),
        bytes: sumOf(there.map(({ facts }) => facts.bytes)),
        sequence:
          sequences.length === there.length ? JSON.stringify(Object.fromEntries(sequences)) : undefined,
      }
    },
    pages,
    changes,
    async document(database, id) {
      for (const { source } of sources.toReversed()) {
        const found = await source.document(database, id)
        if (found) return found
      }
      return undefined
    },
    async attachment(name) {
      for (const { source } of sources.toReversed()) {
        const found = await source.attachment(name)
        if (found) return found
      }
      return undefined
    },
    async close() {
      for (const { source } of sources) await source.close()
    },
  }
}
