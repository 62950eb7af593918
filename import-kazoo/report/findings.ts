import type { Finding } from '../documents/document.ts'

/** Findings of one code in one database: how many, and the first of them. */
export interface CountedFindings {
  severity: Finding['severity']
  code: string
  count: number
  shown: readonly Finding[]
}

/** So many of a code are shown of a database: the others would say the same. */
export const shownOfCode = 20

/** What is found in one database, counted: of call records there may be millions. */
export const findingsOf = (database: string) => {
  const codes = new Map<string, { severity: Finding['severity']; count: number; shown: Finding[] }>()
  return {
    add(id: string, { severity, code, ...said }: Omit<Finding, 'database' | 'id'>) {
      const known = codes.get(code) ?? { severity, count: 0, shown: [] }
      codes.set(code, known)
      known.count += 1
      if (known.shown.length < shownOfCode) known.shown.push({ severity, code, database, id, ...said })
    },
    counted: (): CountedFindings[] => Array.from(codes, ([code, found]) => ({ ...found, code })),
  }
}

/** What was found before, and what was found behind it, as one. */
export const joinFindings = (
  before: readonly CountedFindings[],
  more: readonly CountedFindings[],
): CountedFindings[] => {
  const byCode = new Map(before.map((one) => [one.code, one]))
  for (const { code, severity, count, shown } of more) {
    const known = byCode.get(code) ?? { severity, count: 0, shown: [] }
    const all = [...known.shown, ...shown].slice(0, shownOfCode)
    byCode.set(code, { code, severity: known.severity, count: known.count + count, shown: all })
  }
  return [...byCode.values()]
}
