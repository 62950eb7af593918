import { type Converted, type Finding, outcomes, type Severity } from '../documents/document.ts'

/** How many documents of a type came to what. */
export interface TypeTally {
  type: string
  outcome: Converted['outcome']
  count: number
}

/** What is told of a code: how often, and the first of them. */
export interface CodeTally {
  severity: Severity
  code: string
  count: number
  first: readonly Finding[]
}

/** So many of a code are shown. */
export const firstTold = 20

/** Counts what conversions make, in memory that does not grow with how much they make. */
export const createTallies = () => {
  const types = new Map<string, TypeTally>()
  const codes = new Map<string, CodeTally & { first: Finding[] }>()

  const addType = (type: string, outcome: Converted['outcome'], count: number) => {
    const key = `${type}\n${outcome}`
    const known = types.get(key)
    if (known) known.count += count
    else types.set(key, { type, outcome, count })
  }

  const addFinding = (finding: Finding) => {
    const { severity, code } = finding
    const key = `${severity}\n${code}`
    const known = codes.get(key) ?? { severity, code, count: 0, first: [] }
    codes.set(key, known)
    known.count += 1
    if (known.first.length < firstTold) known.first.push(finding)
  }

  return {
    addType,
    addFinding,
    add({ document, outcome, findings }: Converted) {
      addType(document.type, outcome, 1)
      for (const finding of findings) addFinding(finding)
    },
    /** `cdr imported`, as months count. */
    addCount(key: string, count: number) {
      const at = key.lastIndexOf(' ')
      const outcome = outcomes.find((one) => one === key.slice(at + 1))
      if (outcome) addType(key.slice(0, at), outcome, count)
    },
    /** What was counted elsewhere. */
    addCode({ severity, code, count, first }: CodeTally) {
      const key = `${severity}\n${code}`
      const known = codes.get(key) ?? { severity, code, count: 0, first: [] }
      codes.set(key, known)
      known.count += count
      known.first.push(...first.slice(0, firstTold - known.first.length))
    },
    types: (): readonly TypeTally[] => [...types.values()],
    codes: (): readonly CodeTally[] => [...codes.values()],
  }
}

export type Tallies = ReturnType<typeof createTallies>
