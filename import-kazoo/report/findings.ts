import type { Finding } from '../documents/document.ts'

/** Findings of one code: how many, and the first of them. */
export interface CountedFindings {
  severity: Finding['severity']
  code: string
  count: number
  shown: readonly Finding[]
}

/** The number of findings of a code that are shown: the others would say the same. */
export const shownOfCode = 20

/** Counts findings by code: of call records there may be millions. */
export const createFindings = () => {
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

/** What is found in one database, counted. */
export const findingsOf = (database: string) => {
  const { add, counted } = createFindings()
  return {
    add: (id: string, { severity, code, ...said }: Omit<Finding, 'database' | 'id'>) =>
      add({ severity, code, database, id, ...said }),
    counted,
  }
}

/** Findings, counted. */
export const countFindings = (findings: readonly Finding[]): CountedFindings[] => {
  const { add, counted } = createFindings()
  for (const finding of findings) add(finding)
  return counted()
}

/** What was found before, and what was found behind it, as one. */
export const joinFindings = (
  before: readonly CountedFindings[],
  more: readonly CountedFindings[],
): CountedFindings[] => {
  const { join, counted } = createFindings()
  for (const one of [...before, ...more]) join(one)
  return counted()
}
