import type { Converted, Finding } from '../documents/document.ts'

/** Findings of one code: the number and the first ones. */
export interface CountedFindings extends Pick<Finding, 'severity' | 'code'> {
  count: number
  shown: readonly Finding[]
}

/** Further findings of a code are only counted: there may be millions. */
export const shownOfCode = 20

export const createFindings = () => {
  const codes = new Map<string, CountedFindings>()
  const join = ({ severity, code, count, shown }: CountedFindings) => {
    const key = `${severity} ${code}`
    const known = codes.get(key) ?? { count: 0, shown: [] }
    const first = [...known.shown, ...shown].slice(0, shownOfCode)
    codes.set(key, { severity, code, count: known.count + count, shown: first })
  }
  return {
    join,
    add: (finding: Finding) => join({ ...finding, count: 1, shown: [finding] }),
    counted: () => [...codes.values()],
  }
}

export const joinFindings = (...lists: readonly (readonly CountedFindings[])[]) => {
  const { join, counted } = createFindings()
  for (const one of lists.flat()) join(one)
  return counted()
}

export const countFindings = (findings: readonly Finding[]) =>
  joinFindings(findings.map((one) => ({ ...one, count: 1, shown: [one] })))

type Counts = Readonly<Record<string, number>>

export interface ListedDatabase {
  name: string
  /** Undefined if counting would mean reading everything. */
  documents: number | undefined
  bytes: number | undefined
}

const severityTitles = {
  stop: 'Stop the import',
  needs_hand: 'Need manual work',
  repaired: 'Repaired',
  left_out: 'Left out',
} as const

/** Memory does not grow with the number of documents. */
export const createReportCounts = () => {
  const counts = new Map<string, number>()
  const findings = createFindings()

  /** `key`: a type and an outcome, like `cdr imported`. */
  const addCount = (key: string, count: number) => counts.set(key, (counts.get(key) ?? 0) + count)

  const countsOf = (outcome: Converted['outcome']): Counts =>
    Object.fromEntries(
      [...counts]
        .filter(([key]) => key.endsWith(` ${outcome}`))
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([key, count]) => [key.slice(0, -outcome.length - 1) || '(none)', count]),
    )

  return {
    addCount,
    findings,
    add({ document, outcome, findings: found }: Converted) {
      addCount(`${document.type} ${outcome}`, 1)
      for (const one of found) findings.add(one)
    },
    /** Documents by type, and findings. */
    counted: () => ({
      imported: countsOf('imported'),
      kept: countsOf('kept'),
      leftOut: countsOf('skipped'),
      rejected: countsOf('rejected'),
      conflicts: findings.counted(),
    }),
  }
}

export type ReportCounts = ReturnType<typeof createReportCounts>

export interface Report extends ReturnType<ReportCounts['counted']> {
  source: string
  databases: Counts
  listed: readonly ListedDatabase[]
  accounts: number
}

/** Whether a person must look at something before the cut-over. */
export const needsPerson = ({ conflicts }: Pick<Report, 'conflicts'>) =>
  conflicts.some(({ severity }) => severity === 'stop' || severity === 'needs_hand')

export const formatCount = (count: number | undefined) => count?.toLocaleString('en-US') ?? '?'

/** A line of a list of counts. */
export const countLine = (count: number | undefined, name: string) =>
  `  ${formatCount(count).padStart(12)}  ${name}`

export const countLines = (counts: Counts) =>
  Object.entries(counts).map(([name, count]) => countLine(count, name))

const section = (title: string, lines: readonly string[]) =>
  lines.length === 0 ? [] : [`${title}:`, ...lines, '']

const moreLine = (more: number) => (more > 0 ? [`      ... and ${formatCount(more)} more`] : [])

const findingLine = ({ database, id, field, old, new: now }: Finding) => {
  const change = [old, now].filter((value) => value !== undefined).join(' -> ')
  return [`      ${database} ${id}`, field, change].filter((part) => part).join('  ')
}

// The JSON form has all databases, and more findings.
const maxListed = 20
const maxFindings = 3

const listedLines = (listed: readonly ListedDatabase[]) => [
  ...listed
    .slice(0, maxListed)
    .map(({ name, documents, bytes }) => countLine(documents, `${name}  ${formatCount(bytes)} bytes`)),
  ...moreLine(listed.length - maxListed),
]

const conflictLines = ({ code, count, shown }: CountedFindings) => [
  countLine(count, code),
  ...shown.slice(0, maxFindings).map(findingLine),
  ...moreLine(count - maxFindings),
]

export const reportText = (report: Report, { isPlan }: { isPlan: boolean }) =>
  [
    `From ${report.source}: ${formatCount(report.accounts)} accounts`,
    '',
    ...section('Databases', countLines(report.databases)),
    ...section('Databases that are not imported, with their documents', listedLines(report.listed)),
    ...section(isPlan ? 'Will be imported' : 'Imported', countLines(report.imported)),
    ...section(isPlan ? 'Will be preserved unchanged' : 'Preserved unchanged', countLines(report.kept)),
    ...section('Left out', countLines(report.leftOut)),
    ...section('Refused', countLines(report.rejected)),
    ...Object.entries(severityTitles).flatMap(([severity, title]) =>
      section(title, report.conflicts.filter((one) => one.severity === severity).flatMap(conflictLines)),
    ),
  ].join('\n')

export const reportJson = (
  { source, databases, listed, accounts, imported, kept, leftOut, rejected, conflicts }: Report,
  { isPlan }: { isPlan: boolean },
) => ({
  ...{ source, databases, listed, accounts },
  ...(isPlan ? { will_import: imported, will_keep: kept } : { imported, kept }),
  left_out: leftOut,
  rejected,
  conflicts: conflicts.map(({ shown: first, ...counted }) => ({ ...counted, first })),
})
