import { type Converted, type Finding, outcomes } from '../documents/document.ts'

/** Findings of one code: the number and the first ones. */
export interface CountedFindings {
  severity: Finding['severity']
  code: string
  count: number
  shown: readonly Finding[]
}

/** Further findings of a code are only counted. */
export const shownOfCode = 20

/** There may be millions of findings. */
const createFindings = () => {
  const codes = new Map<string, CountedFindings & { shown: Finding[] }>()
  const join = ({ severity, code, count, shown }: CountedFindings) => {
    const key = `${severity} ${code}`
    const known = codes.get(key) ?? { severity, code, count: 0, shown: [] }
    codes.set(key, known)
    known.count += count
    if (known.shown.length < shownOfCode)
      known.shown.push(...shown.slice(0, shownOfCode - known.shown.length))
  }
  return {
    join,
    add: (finding: Finding) => join({ ...finding, count: 1, shown: [finding] }),
    counted: (): CountedFindings[] => [...codes.values()],
  }
}

export const findingsOf = (database: string) => {
  const { add, counted } = createFindings()
  return {
    add: (id: string, { severity, code, ...said }: Omit<Finding, 'database' | 'id'>) =>
      add({ severity, code, database, id, ...said }),
    counted,
  }
}

export const countFindings = (findings: readonly Finding[]): CountedFindings[] => {
  const { add, counted } = createFindings()
  for (const finding of findings) add(finding)
  return counted()
}

export const joinFindings = (
  before: readonly CountedFindings[],
  more: readonly CountedFindings[],
): CountedFindings[] => {
  const { join, counted } = createFindings()
  for (const one of [...before, ...more]) join(one)
  return counted()
}

type Outcome = Converted['outcome']

export interface ListedDatabase {
  name: string
  /** Undefined if counting would mean reading everything. */
  documents: number | undefined
  bytes: number | undefined
}

export interface Report {
  source: string
  databases: Readonly<Record<string, number>>
  listed: readonly ListedDatabase[]
  accounts: number
  /** Documents by type. */
  imported: Readonly<Record<string, number>>
  kept: Readonly<Record<string, number>>
  leftOut: Readonly<Record<string, number>>
  rejected: Readonly<Record<string, number>>
  conflicts: readonly CountedFindings[]
}

const severityTitles = {
  stop: 'Stops the import',
  needs_hand: 'Waits for a person',
  repaired: 'Repaired',
  left_out: 'Left out',
} as const

/** Memory does not grow with the number of documents. */
export const createReportCounts = () => {
  const types = new Map(outcomes.map((outcome) => [outcome, new Map<string, number>()]))
  const findings = createFindings()

  const addType = (type: string, outcome: Outcome, count: number) => {
    const counts = types.get(outcome)
    counts?.set(type, (counts.get(type) ?? 0) + count)
  }

  const countsBy = (outcome: Outcome): Record<string, number> =>
    Object.fromEntries(
      [...(types.get(outcome) ?? [])]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([type, count]) => [type === '' ? '(none)' : type, count]),
    )

  return {
    addType,
    findings,
    add({ document, outcome, findings: found }: Converted) {
      addType(document.type, outcome, 1)
      for (const one of found) findings.add(one)
    },
    /** `key`: like `cdr imported`. */
    addCount(key: string, count: number) {
      const at = key.lastIndexOf(' ')
      const outcome = outcomes.find((one) => one === key.slice(at + 1))
      if (outcome) addType(key.slice(0, at), outcome, count)
    },
    counted: (): Pick<Report, 'imported' | 'kept' | 'leftOut' | 'rejected' | 'conflicts'> => ({
      imported: countsBy('imported'),
      kept: countsBy('kept'),
      leftOut: countsBy('skipped'),
      rejected: countsBy('rejected'),
      conflicts: findings.counted(),
    }),
  }
}

export type ReportCounts = ReturnType<typeof createReportCounts>

/** Whether a person must look at something before the cut-over. */
export const needsPerson = ({ conflicts }: Pick<Report, 'conflicts'>) =>
  conflicts.some(({ severity }) => severity === 'stop' || severity === 'needs_hand')

const counted = (count: number) => count.toLocaleString('en-US')

const column = (entries: Readonly<Record<string, number>>) =>
  Object.entries(entries).map(([name, count]) => `  ${counted(count).padStart(12)}  ${name}`)

const section = (title: string, entries: Readonly<Record<string, number>>) =>
  Object.keys(entries).length === 0 ? [] : [`${title}:`, ...column(entries), '']

const findingLine = ({ database, id, field, old, new: now }: Finding) => {
  const change = [old, now].flatMap((value) => value ?? []).join(' -> ')
  return [`      ${database} ${id}`, field, change].filter((part) => part).join('  ')
}

// The JSON form has all of them.
const listedShown = 20

const unknownCount = '?'

const listedLines = (listed: readonly ListedDatabase[]) => {
  if (listed.length === 0) return []
  const rows = listed.slice(0, listedShown).map(({ name, documents, bytes }) => {
    const [count, size] = [documents, bytes].map((one) => (one === undefined ? unknownCount : counted(one)))
    return `  ${(count ?? '').padStart(12)}  ${name}  ${size} bytes`
  })
  const more = listed.length - rows.length
  return [
    'Databases of which nothing is taken over, with their documents:',
    ...rows,
    ...(more > 0 ? [`      ... and ${counted(more)} more`] : []),
    '',
  ]
}

// The JSON form has more.
const shownAsText = 3

const conflictLines = (conflicts: readonly CountedFindings[]) =>
  Object.entries(severityTitles).flatMap(([severity, title]) => {
    const ofSeverity = conflicts.filter((one) => one.severity === severity)
    if (ofSeverity.length === 0) return []
    return [
      `${title}:`,
      ...ofSeverity.flatMap(({ code, count, shown }) => [
        `  ${counted(count).padStart(12)}  ${code}`,
        ...shown.slice(0, shownAsText).map(findingLine),
        ...(count > shownAsText ? [`      ... and ${counted(count - shownAsText)} more`] : []),
      ]),
      '',
    ]
  })

export const reportText = (report: Report, { isPlan }: { isPlan: boolean }) =>
  [
    `From ${report.source}: ${counted(report.accounts)} accounts`,
    '',
    ...section('Databases', report.databases),
    ...listedLines(report.listed),
    ...section(isPlan ? 'Will be imported' : 'Imported', report.imported),
    ...section(isPlan ? 'Will be kept as it is' : 'Kept as it is', report.kept),
    ...section('Left out', report.leftOut),
    ...section('Refused', report.rejected),
    ...conflictLines(report.conflicts),
  ].join('\n')

export const reportJson = (report: Report, { isPlan }: { isPlan: boolean }) => ({
  source: report.source,
  databases: report.databases,
  listed: report.listed,
  accounts: report.accounts,
  [isPlan ? 'will_import' : 'imported']: report.imported,
  [isPlan ? 'will_keep' : 'kept']: report.kept,
  left_out: report.leftOut,
  rejected: report.rejected,
  conflicts: report.conflicts.map(({ severity, code, count, shown: first }) => ({
    severity,
    code,
    count,
    first,
  })),
})
