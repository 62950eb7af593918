import type { Clock } from '../../src/lib/clock.ts'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import { copiesDatabase } from '../conversions/account-tree.rules.ts'
import { finding } from '../conversions/findings.ts'
import { databaseKindsOf } from '../documents/database-names.ts'
import { forEach } from '../import-run/at-once.ts'
import { type ImportRunOptions, scopeOf } from '../import-run/import-scope.ts'
import { monthNotesIn, monthsIn } from '../import-run/months.ts'
import { convertedPages } from '../import-run/reading.ts'
import { isVanished, type RunStore } from '../import-run/store.ts'
import { createGathering } from '../import-sections/gathering.ts'
import type { Facts, ImportSection } from '../import-sections/section.ts'
import { type Source, unlessVanished } from '../source/source.ts'
import type { ListedDatabase, Report, ReportCounts } from './report.ts'
import { createReportCounts, shownOfCode } from './report.ts'

interface Deps {
  run: RunStore
  clock: Clock
  chapters: readonly ImportSection[]
}

const databaseVanished = (database: string) => finding({ database, id: '' }, 'left_out', 'database_vanished')

const listedIn = async (source: Source, kinds: Facts['kinds']) => {
  const names = [...kinds].flatMap(([name, { taking }]) => (taking === 'list' ? [name] : []))
  const listed = new Map<string, ListedDatabase>()
  await forEach(undefined, names, async (name) => {
    const found = await source.database(name)
    if (found) listed.set(name, { name, documents: found.documents, bytes: found.bytes })
  })
  return names.flatMap((name) => listed.get(name) ?? [])
}

const reportOf = async (
  source: Source,
  kinds: Facts['kinds'],
  accounts: number,
  counts: ReportCounts,
): Promise<Report> => {
  const databases: Record<string, number> = {}
  for (const { kind } of kinds.values()) databases[kind] = (databases[kind] ?? 0) + 1
  const listed = await listedIn(source, kinds)
  return { source: source.facts.title, databases, listed, accounts, ...counts.counted() }
}

export const createReports = ({ run, clock, chapters }: Deps) => {
  const survey = async (source: Source, manner: ImportRunOptions = {}): Promise<Report> => {
    const facts = await createGathering(source, { withUses: true })(gregorianNow(clock), scopeOf(manner))
    const counts = createReportCounts()
    for (const finding of [...facts.plan.findings, ...facts.elsewhere]) counts.findings.add(finding)
    for (const chapter of chapters) {
      for (const database of chapter.databases(facts)) {
        let documents = 0
        const isThere = await unlessVanished(async () => {
          for await (const { converted } of convertedPages(chapter, facts, database)) {
            documents += converted.length
            for (const one of converted) counts.add(one)
          }
        })
        if (!isThere) counts.findings.add(databaseVanished(database))
        manner.onBatch?.({ chapter: chapter.name, database, documents, changed: 0, removed: 0 })
      }
    }
    counts.addCount('account imported', facts.accounts.size)
    for (const { database } of monthsIn(facts).flat())
      counts.addCount('(documents of months) imported', (await source.database(database))?.documents ?? 0)
    return reportOf(source, facts.kinds, facts.accounts.size, counts)
  }

  const report = async (source: Source): Promise<Report> => {
    const names = await source.databases()
    const kinds = databaseKindsOf(names)
    const counts = createReportCounts()
    for (const { type, outcome, count } of await run.outcomes()) counts.addCount(`${type} ${outcome}`, count)
    for (const { severity, code, count } of await run.codes())
      counts.findings.join({ severity, code, count, shown: await run.findings(severity, code, shownOfCode) })
    let accounts = 0
    for await (const row of run.databases()) {
      if (row.name === copiesDatabase) accounts = row.documents
      if (isVanished(row)) counts.findings.add(databaseVanished(row.name))
      const { counts: ofMonth, findings } = monthNotesIn(row)
      for (const [key, count] of Object.entries(ofMonth)) counts.addCount(key, count)
      for (const one of findings) counts.findings.join(one)
    }
    return reportOf(source, kinds, accounts, counts)
  }

  return { survey, report }
}
